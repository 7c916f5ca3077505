package trace_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/trace"
)

// BenchmarkTurn has what a turn of the coach function does with a tracer, 6 spans, around calls that take no time:
// without a collector, and with one that answers at once. The first has to cost nothing.
func BenchmarkTurn(b *testing.B) {
	ok := roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(&bytes.Reader{}), Request: r}, err
	})
	for _, endpoint := range []config.Endpoint{"", "http://collector.example"} {
		b.Run(map[bool]string{true: "off", false: "on"}[endpoint == ""], func(b *testing.B) {
			tracer, err := trace.New(b.Context(), trace.Options{
				Tracing: config.Tracing{Endpoint: endpoint, Share: 1}, Now: time.Now, Transport: ok,
				Report: func(context.Context, string, error) {},
			})
			if err != nil {
				b.Fatal(err)
			}
			var plain chat.Streamer = model{}
			streamer := tracer.Streamer(plain, trace.Model{Name: "m", BaseURL: "https://api.example/v1"})
			emit := func(string) error { return nil }
			b.ReportAllocs()
			for b.Loop() {
				ctx, finish := tracer.Begin(b.Context(), trace.Invocation{Name: "coach"})
				for range 4 {
					if _, err := streamer.Stream(ctx, request, emit); err != nil {
						b.Fatal(err)
					}
				}
				_, _, end := tracer.Invoke(ctx, "prompt")
				end(nil)
				finish(nil)
			}
		})
	}
}
