package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesAreCurrent compares the clients' generated files with the document of the code. It names the operations
// that a client lacks.
func TestFilesAreCurrent(t *testing.T) {
	t.Parallel()
	d, err := served()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files(d) {
		got, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) == string(want) {
			continue
		}
		var missing []string
		for _, o := range d.operations() {
			if !strings.Contains(string(got), o.Path) {
				missing = append(missing, o.OperationID+" "+o.Path)
			}
		}
		t.Errorf("%s does not match the OpenAPI document: run make clients-types, which needs nothing by hand for a new "+
			"operation. Paths that it lacks: %q", name, missing)
	}
}

// TestEveryOperationIsGenerated expects an operation of the document in each file.
func TestEveryOperationIsGenerated(t *testing.T) {
	t.Parallel()
	d, err := read([]byte(`{"paths":{"/v1/turns/{turnId}":{"post":{"operationId":"takeTurn","parameters":[
		{"name":"Idempotency-Key","in":"header"},{"name":"turnId","in":"path","required":true}],
		"responses":{"201":{}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files(d) {
		if strings.Contains(name, "operations") && !strings.Contains(string(text), "/v1/turns/") {
			t.Errorf("%s has no method of /v1/turns/{turnId}:\n%s", name, text)
		}
	}
}

// TestUnsafeOperation expects an error that says what to do about operations that the clients cannot send or read.
func TestUnsafeOperation(t *testing.T) {
	t.Parallel()
	for want, paths := range map[string]string{
		"has no Idempotency-Key": `{"/v1/x":{"post":{"operationId":"x"}}}`,
		"answers text/csv":       `{"/v1/x":{"get":{"operationId":"x","responses":{"200":{"content":{"text/csv":{}}}}}}}`,
	} {
		if _, err := read([]byte(`{"paths":` + paths + `}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestVersionsFollowTheAPI compares the versions of the packages and of their changelogs with the document's.
func TestVersionsFollowTheAPI(t *testing.T) {
	t.Parallel()
	d, err := served()
	if err != nil {
		t.Fatal(err)
	}
	version := d.Info.Version
	for file, want := range map[string]string{
		"typescript/package.json": fmt.Sprintf("\n  %q: %q,\n", "version", version),
		"typescript/CHANGELOG.md": "\n## " + version + "\n",
		"python/pyproject.toml":   fmt.Sprintf("\nversion = %q\n", version),
		"python/CHANGELOG.md":     "\n## " + version + "\n",
		"go/CHANGELOG.md":         "\n## " + version + "\n",
	} {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not have the API's version %s", file, version)
		}
	}
}
