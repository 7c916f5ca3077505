package trace_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/span"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/trace"
)

// roundTrip is a collector, or what is in its place.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestACollectorDelaysNothing has more spans than fit the queue, and a collector that answers nothing, one that is down
// and one that takes a connection in vain. By a clock that only goes on while everything waits, the work takes no time.
// What is left at the end is given up after two attempts of 2 s each, beside the one that is under way.
func TestACollectorDelaysNothing(t *testing.T) {
	t.Parallel()
	for name, collector := range map[string]roundTrip{
		"hangs": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"is down": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		"is slow": func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return nil, errors.New("no route to host")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(context.Background())
				tracer := check.Got(trace.New(ctx, trace.Options{
					Tracing: config.Tracing{Endpoint: "http://collector.example"},
					Report:  func(context.Context, string, error) {}, Now: time.Now, Transport: collector,
				}))(t)
				start := time.Now()
				for range 2500 {
					inner, finish := tracer.Begin(ctx, trace.Invocation{Name: "coach"})
					_, s := span.Start(inner, "invoke_agent")
					s.End(nil)
					finish(nil)
				}
				if took := time.Since(start); took > 0 {
					t.Errorf("5000 spans took %v", took)
				}
				stop()
				time.Sleep(6 * time.Second)
				synctest.Wait() // all goroutines of the tracer have ended, or the test fails
			})
		})
	}
}
