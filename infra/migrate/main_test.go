package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/invoke"
	"github.com/throughline/throughline/internal/migration"
)

// function is a migrate function that needs two calls for a segment and finds a difference in the segments of odd
// numbers.
type function struct {
	mu    sync.Mutex
	calls []migration.Request
}

func (f *function) handle(_ context.Context, in migration.Request) (answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, in)
	out := answer{Answer: migration.Answer{Stage: migration.Dual, Percent: 100, Backfilled: 100, Done: true}}
	out.Progress = migration.Progress{Action: migration.Verify, Percent: 100, Items: 90, Sessions: 40, Messages: 700}
	switch {
	case in.Action == "advance":
		return out, invoke.Error(fault.New(fault.Conflict, "a verify has to go through first"))
	case in.Action != "status" && in.Checkpoint == "":
		return answer{Answer: migration.Answer{Checkpoint: "next"}}, nil
	case in.Segment%2 == 1:
		out.Mismatches = []migration.Mismatch{{UserID: "u", SessionID: "s", Reason: "message 3 differs"}}
	}
	if in.DryRun {
		out.Forecast = &migration.Forecast{Messages: 10, WriteUnits: 30, Seconds: 5, USD: 0.5}
	}
	return out, nil
}

// start serves a function as the local stack does, and returns the stack's address.
func (f *function) start(t *testing.T) string {
	t.Helper()
	runtime := lambdaapi.NewRuntime(slog.New(slog.DiscardHandler))
	runtime.Register("throughline-migrate", f.handle, time.Minute)
	functions := httptest.NewServer(runtime.Handler())
	t.Cleanup(functions.Close)
	stack := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"lambdaEndpoint": functions.URL, "functions": map[string]string{"migrate": "throughline-migrate"},
		})
	}))
	t.Cleanup(stack.Close)
	return stack.URL
}

func command(t *testing.T, arguments ...string) (code int, out, errors string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), arguments, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestSegmentsAreCalledToTheirEnd(t *testing.T) {
	t.Parallel()
	f := &function{}
	code, out, errors := command(t, "-base", f.start(t), "-action", "verify", "-segments", "4", "-rate", "200")
	if code != found || errors != "" {
		t.Errorf("exit %d, %s", code, errors)
	}
	want := `stage       dual for 100% of the users
backfilled  100% of the users
verify      100%: 90 records read, 40 sessions, 0 of them changed, 700 messages, 0 problems
  s of u: message 3 differs
  s of u: message 3 differs
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("the report differs (-want +got):\n%s", diff)
	}
	calls := map[string]int{}
	for _, c := range f.calls {
		if c.Action == "verify" {
			calls[c.Checkpoint]++
		}
		if c.Action == "verify" && (c.TotalSegments != 4 || c.RateLimit != 50) {
			t.Errorf("a segment was called with %+v, want 4 segments at 50 messages a second each", c)
		}
	}
	if diff := cmp.Diff(map[string]int{"": 4, "next": 4}, calls); diff != "" {
		t.Errorf("the calls by checkpoint differ (-want +got):\n%s", diff)
	}
}

func TestForecastIsTheSumOfTheSegments(t *testing.T) {
	t.Parallel()
	f := &function{}
	code, out, _ := command(t, "-base", f.start(t), "-action", "backfill", "-segments", "3", "-dry-run")
	want := "forecast    0 sessions, 30 messages, 0 records written, 90 write units, 0 read units, 5s, 1.50 USD\n"
	if code != found || !strings.Contains(out, want) {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	f := &function{}
	code, out, errors := command(t, "-base", f.start(t), "-action", "verify", "-segments", "1", "-json")
	var got answer
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != done || got.Progress.Messages != 700 ||
		got.Mismatches == nil {
		t.Errorf("exit %d, %v, %s:\n%s", code, err, errors, out)
	}
}

func TestRefusalIsOneLine(t *testing.T) {
	t.Parallel()
	f := &function{}
	code, out, errors := command(t, "-base", f.start(t), "-action", "advance", "-to", "shared")
	if code != refused || out != "" || errors != "migrate: a verify has to go through first\n" {
		t.Errorf("exit %d, %q, %q", code, out, errors)
	}
}

func TestBadInputIsOneLineWithTheMend(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"":                                        "-action= is none of preflight",
		"-action copy":                            "-action=copy is none of preflight",
		"-action rollback":                        "make migrate-rollback TO=dual",
		"-action advance -to live":                "TO=live is none of embedded",
		"-action verify -to dual":                 "leave out TO",
		"-action advance -to dual -percent 0":     "PERCENT=0 is not 1 to 100",
		"-action backfill -segments 0":            "SEGMENTS=0 is not 1 to 1000",
		"-action backfill -rate -1":               "name messages a second",
		"-action verify -dry-run":                 "leave out DRYRUN",
		"-action status -env nowhere":             "",
		"-action status -base http://127.0.0.1:1": "make run",
	} {
		code, out, errors := command(t, strings.Fields(arguments)...)
		if code != refused || out != "" || !strings.Contains(errors, want) || strings.Count(errors, "\n") != 1 {
			t.Errorf("%q: exit %d, %q, %q", arguments, code, out, errors)
		}
	}
}

// TestStateMachine runs an execution of a service that has answers ready.
func TestStateMachine(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:states:us-east-1:123456789012:execution:throughline-migrate-segments:1"
	outcome := map[string]any{"executionArn": arn, "status": "SUCCEEDED"}
	var started map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := outcome
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".StartExecution") {
			_ = json.NewDecoder(r.Body).Decode(&started)
			answer = map[string]any{"executionArn": arn}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	s := &service{
		machine: machineARN("arn:aws:lambda:us-east-1:123456789012:function:throughline-migrate"),
		machines: sfn.New(sfn.Options{
			Region: "us-east-1", BaseEndpoint: &server.URL,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		}),
	}
	outcome["output"] = `{"status":{},"mismatches":[[],[{"userId":"u","sessionId":"s","reason":"differs"}]]}`
	gathered := &segmentAnswers{}
	in := migration.Request{Action: "verify", TotalSegments: 2}
	if err := s.execute(t.Context(), in, gathered); err != nil || len(gathered.mismatches) != 1 {
		t.Errorf("got %+v and %v, want one mismatch", gathered.mismatches, err)
	}
	want := map[string]any{
		"stateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:throughline-migrate-segments",
		"input":           `{"action":"verify","totalSegments":2}`,
	}
	if diff := cmp.Diff(want, started); diff != "" {
		t.Errorf("the execution differs (-want +got):\n%s", diff)
	}
	outcome["status"], outcome["error"], outcome["cause"] = "FAILED", "SegmentsFailed", "segments [1] of 2 failed"
	err := s.execute(t.Context(), in, gathered)
	if err == nil || !strings.Contains(err.Error(), "FAILED: SegmentsFailed: segments [1] of 2 failed") {
		t.Errorf("got %v, want the cause", err)
	}
}

// TestPrinter prints the progress of a verify, but not that of the backfill before it, and the findings of a preflight.
func TestPrinter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &printer{out: &out, action: "verify", now: func() time.Time { return time.Time{} }}
	for _, action := range []migration.Action{migration.Backfill, migration.Verify} {
		p.line(answer{Answer: migration.Answer{Progress: migration.Progress{Action: action, Percent: 40, Sessions: 3}}})
	}
	p.report(answer{Findings: []preflight.Finding{
		{Check: "keys", Level: preflight.OK, Found: "pk, sk"},
		{Check: "deletion protection", Level: preflight.Warning, Found: "off", Breaks: "one call deletes all"},
	}})
	for text, want := range map[string]int{
		"backfill  40%": 0, "verify  40%  3 sessions": 1, "keys: pk, sk\n": 1,
		"deletion protection: off\n": 1, "breaks: one call deletes all\n": 1,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q is printed %d times, want %d:\n%s", text, got, want, &out)
		}
	}
}
