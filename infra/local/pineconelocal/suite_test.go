package pineconelocal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

const (
	clientPackage = "github.com/pinecone-io/go-pinecone/v5/pinecone"
	clientSuite   = "TestRunLocalIntegrationSuite"
)

// TestClientSuite runs the client library's own suite for local servers, from the module cache. The suite wants two
// indexes, a serverless one and a pod.
func TestClientSuite(t *testing.T) {
	t.Parallel()
	serverless := serve(t, build(t, pineconelocal.Options{Dimension: 1536}))
	pod := serve(t, build(t, pineconelocal.Options{Dimension: 1536}))

	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-count=1", "-mod=readonly", "-tags=localServer",
		"-run=^"+clientSuite+"$", clientPackage)
	isPinecone := func(v string) bool { return strings.HasPrefix(v, "PINECONE_") }
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isPinecone),
		"GOFLAGS=-trimpath", "GOWORK=off", "CGO_ENABLED=0",
		"PINECONE_API_KEY=any",
		"PINECONE_INDEX_URL_POD="+pod,
		"PINECONE_INDEX_URL_SERVERLESS="+serverless,
		"PINECONE_DIMENSION=1536",
	)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go test %s: %v\n%s\n%s", clientPackage, err, stderr(err), transcript(out))
	}
	passed := passedTests(t, out)
	for _, name := range []string{
		"TestDescribeIndexStats", "TestFetchVectors", "TestListVectorIds", "TestQueryVectors", "TestUpdateVectors",
	} {
		// The suite runs twice, so go test numbers the second round.
		for _, round := range []string{"", "#01"} {
			if full := clientSuite + "/" + name + round; !passed[full] {
				t.Errorf("%s did not pass", full)
			}
		}
	}
	if t.Failed() {
		t.Log(transcript(out))
	}
}

// event is a line that go test -json prints.
type event struct{ Action, Test, Output string }

func events(out []byte) []event {
	var all []event
	for line := range bytes.Lines(out) {
		var e event
		if json.Unmarshal(line, &e) == nil {
			all = append(all, e)
		}
	}
	return all
}

// passedTests fails the test when a test of the suite was skipped or failed.
func passedTests(t *testing.T, out []byte) map[string]bool {
	t.Helper()
	passed := map[string]bool{}
	for _, e := range events(out) {
		switch e.Action {
		case "pass":
			passed[e.Test] = true
		case "skip", "fail":
			t.Errorf("the suite has a %s: %s", e.Action, e.Test)
		}
	}
	return passed
}

func transcript(out []byte) string {
	var text strings.Builder
	for _, e := range events(out) {
		text.WriteString(e.Output)
	}
	return text.String()
}

func stderr(err error) []byte {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Stderr
	}
	return nil
}
