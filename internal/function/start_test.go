package function_test

import (
	"runtime/debug"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestTuneCollector(t *testing.T) {
	percent, limit, given := debug.SetGCPercent(100), debug.SetMemoryLimit(-1), lambdacontext.MemoryLimitInMB
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
		lambdacontext.MemoryLimitInMB = given
	})
	lambdacontext.MemoryLimitInMB = 1024
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	function.TuneCollector()
	if got := debug.SetGCPercent(100); got != 400 {
		t.Errorf("the heap may grow by %d%%", got)
	}
	if got := debug.SetMemoryLimit(limit); got != 768<<20 {
		t.Errorf("the limit is %d bytes of 1024 MB", got)
	}
	t.Setenv("GOGC", "50")
	t.Setenv("GOMEMLIMIT", "1GiB")
	function.TuneCollector()
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC does not take precedence: %d%%", got)
	}
	check.Equal(t, limit, debug.SetMemoryLimit(-1), "GOMEMLIMIT does not take precedence: bytes")
}
