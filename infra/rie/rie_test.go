package rie_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/launch"
)

// start runs a function until the test ends.
func start(t testing.TB, bootstrap string, environment ...string) *emulator {
	t.Helper()
	return startWith(t, bootstrap, 1024, environment...)
}

// startWith runs a function with a memory in MB until the test ends.
func startWith(t testing.TB, bootstrap string, memory int, environment ...string) *emulator {
	t.Helper()
	e := run(t, bootstrap, memory, environment...)
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
		if printed := functionOutput(e); t.Failed() && printed != "" {
			t.Logf("the function printed:\n%s", printed)
		}
	})
	return e
}

// functionOutput returns what the function printed, without the emulator's lines and the metrics.
func functionOutput(e *emulator) string {
	var own []string
	for line := range strings.Lines(e.Output()) {
		if !strings.Contains(line, "(rapid)") && !strings.Contains(line, "RequestId:") && !strings.Contains(line, `"_aws"`) {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}

// run runs a function that the caller stops.
func run(t testing.TB, bootstrap string, memory int, environment ...string) *emulator {
	t.Helper()
	emulator, err := findEmulator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, err := startEmulator(t.Context(), emulator, emulated{
		Bootstrap: bootstrap, Environment: environment, Timeout: 2 * time.Minute, MemoryMB: memory,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func echo(t testing.TB) string {
	t.Helper()
	binaries, err := launch.BuildFunctions(t.Context(), t.TempDir(), "./infra/rie/testdata/echo")
	if err != nil {
		t.Fatal(err)
	}
	return binaries[0]
}

func TestInvokeReturnsTheAnswer(t *testing.T) {
	t.Setenv("HOME", "/home/of/the/test")
	e := start(t, echo(t), "VARIABLE=set")
	got, err := e.Invoke(t.Context(), []byte(`{"say":"hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Said, Variable, Home string
		Deadline             bool
	}
	if err := json.Unmarshal(got, &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Said != "hello" || answer.Variable != "set" || !answer.Deadline {
		t.Errorf("answered %s", got)
	}
	if answer.Home == os.Getenv("HOME") {
		t.Errorf("the function sees HOME=%s, which is this process's", answer.Home)
	}
}

func TestInvokeReturnsTheFunctionsError(t *testing.T) {
	t.Parallel()
	e := start(t, echo(t))
	_, err := e.Invoke(t.Context(), []byte(`{"fail":true}`))
	var failed *functionError
	if !errors.As(err, &failed) || failed.Type != "errorString" || failed.Message != "as asked" {
		t.Errorf("got %v, want the function's error", err)
	}
}

func TestInvokeReadsAStreamToItsEnd(t *testing.T) {
	t.Parallel()
	e := start(t, echo(t), "STREAM=yes")
	got, err := e.Invoke(t.Context(), []byte(`{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"GET"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(got), "event: token\n\nevent: done\n\n") {
		t.Errorf("answered %q", got)
	}
}

func TestStopEndsTheFunction(t *testing.T) {
	t.Parallel()
	e := run(t, echo(t), 1024)
	answer, err := e.Invoke(t.Context(), []byte(`{}`))
	if err != nil {
		t.Fatal(errors.Join(err, e.Stop()))
	}
	var function struct{ PID int }
	if err := json.Unmarshal(answer, &function); err != nil || function.PID == 0 {
		t.Fatal(errors.Join(err, e.Stop()))
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(function.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the function's process is still there: %v", err)
	}
}
