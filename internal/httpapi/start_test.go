package httpapi_test

import (
	"testing"

	"github.com/throughline/throughline/internal/httpapi"
)

// TestStartDescribesNoOperation builds the handler that has most operations. To describe one takes hundreds of
// allocations, and to describe all delays the first request of a new instance. No test may run at the same time.
func TestStartDescribesNoOperation(t *testing.T) {
	if n := testing.AllocsPerRun(3, func() { httpapi.Messages(httpapi.MessagesDeps{}) }); n > 5_000 {
		t.Errorf("%v allocations", n)
	}
}
