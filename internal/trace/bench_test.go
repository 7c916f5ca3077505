package trace_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/span"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/trace"
)

// BenchmarkTurn makes the spans of an invocation, 6 in all, around nothing: without a collector, and with one that
// answers at once. The first has to cost nothing.
func BenchmarkTurn(b *testing.B) {
	ok := roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(&bytes.Reader{}), Request: r}, err
	})
	for _, endpoint := range []config.Endpoint{"", "http://collector.example"} {
		b.Run(map[bool]string{true: "off", false: "on"}[endpoint == ""], func(b *testing.B) {
			tracer := check.Got(trace.New(b.Context(), trace.Options{
				Tracing: config.Tracing{Endpoint: endpoint}, Now: time.Now, Transport: ok,
				Report: func(context.Context, string, error) {},
			}))(b)
			b.ReportAllocs()
			for b.Loop() {
				ctx, finish := tracer.Begin(b.Context(), trace.Invocation{Name: "coach"})
				for range 5 {
					_, s := span.Start(ctx, "invoke_agent")
					s.Set(span.Session, "s")
					s.End(nil)
				}
				finish(nil)
			}
		})
	}
}
