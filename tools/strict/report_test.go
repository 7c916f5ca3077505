package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadCounts(t *testing.T) {
	t.Parallel()
	const run = `{"Action":"run","Package":"p","Test":"TestA"}` + "\n"
	tests := []struct {
		name           string
		events         string
		passed, failed int
		prints         string
	}{
		{
			name: "a pass and its package",
			events: run + `{"Action":"output","Package":"p","Test":"TestA","Output":"noise\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}`,
			passed: 1, prints: "ok  \tp\t0.1s\n",
		},
		{
			name: "a failure is printed once, with its output",
			events: run + `{"Action":"output","Package":"p","Test":"TestA","Output":"got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`,
			failed: 1, prints: "got 1, want 2\n",
		},
		{
			name: "a skip is a failure",
			events: run + `{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			failed: 1, prints: "skipped, which counts as failed: p TestA\n",
		},
		{
			name:   "a package without tests counts as nothing",
			events: `{"Action":"skip","Package":"p"}`,
			prints: "no test ran\n",
		},
		{
			name: "a package that does not build",
			events: `{"ImportPath":"p","Action":"build-output","Output":"p.go:1:1: expected 'package'\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p"}`,
			failed: 1, prints: "p.go:1:1: expected 'package'\n",
		},
		{
			name: "the output of a test that panics is printed",
			events: run + `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: no\n"}
{"Action":"fail","Package":"p"}`,
			failed: 1, prints: "panic: no\n",
		},
		{
			name:   "a line that is not an event is copied",
			events: "go: no such module\n",
			prints: "go: no such module\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			r, err := Read(strings.NewReader(tt.events), &out)
			if err != nil {
				t.Fatal(err)
			}
			if r.Passed != tt.passed || r.Failed != tt.failed {
				t.Errorf("counted %d passed, %d failed; want %d, %d", r.Passed, r.Failed, tt.passed, tt.failed)
			}
			if !strings.Contains(out.String(), tt.prints) {
				t.Errorf("output %q does not contain %q", out.String(), tt.prints)
			}
			if want := tt.passed > 0 && tt.failed == 0; r.OK() != want {
				t.Errorf("OK is %t, want %t", r.OK(), want)
			}
		})
	}
}

func TestReadPrintsNothingOfPassedTests(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	_, err := Read(strings.NewReader(`{"Action":"output","Package":"p","Test":"TestA","Output":"noise\n"}
{"Action":"pass","Package":"p","Test":"TestA"}`), &out)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "throughline: 1 passed, 0 failed\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestCountsAreAppended(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "counts")
	for range 2 {
		if err := (&Report{Passed: 3, Failed: 1}).appendTo(name); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "3 1\n3 1\n" {
		t.Errorf("the file holds %q", got)
	}
}
