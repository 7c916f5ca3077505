package dynamodbtest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// TestShare runs a test in a process that finds no Java and thus no engine but the shared one, and then ends the
// command with its context.
func TestShare(t *testing.T) {
	t.Setenv(dynamodbtest.EndpointVariable, "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	passed := t.TempDir() + "/passed"
	script := `PATH= JAVA_HOME= "$0" -test.run='^TestTablesAreSeparate$' >&2 && mkdir "$1" && exec sleep 60`
	command := exec.CommandContext(t.Context(), "sh", "-c", script, os.Args[0], passed)
	command.Stderr = os.Stderr
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(passed); err == nil {
				cancel()
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	err := dynamodbtest.Share(ctx, command)
	if _, ended := errors.AsType[*exec.ExitError](err); !ended || ctx.Err() == nil {
		t.Errorf("the command did not pass the test and end with the context: %v", err)
	}
}
