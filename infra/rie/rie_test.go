package rie_test

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/testing/check"
)

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
	emulator := check.Got(findEmulator(t.Context()))(t)
	e := check.Got(startEmulator(t.Context(), emulator, emulated{
		Bootstrap: bootstrap, Environment: environment, Timeout: 2 * time.Minute, MemoryMB: memory,
	}))(t)
	return e
}

func echo(t testing.TB) string {
	t.Helper()
	binaries := check.Got(launch.BuildFunctions(t.Context(), t.TempDir(), launch.Module+"infra/rie/testdata/echo"))(t)
	return binaries[0]
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
	check.OK(t, e.Stop())
	if err := syscall.Kill(function.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the function's process is still there: %v", err)
	}
}
