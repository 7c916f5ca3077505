package function_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/throughline/throughline/infra/local/collector"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/trace"
)

// TestSpansSayWhatInvoked has an event of each kind. Those of a caller with a trace are of that trace.
func TestSpansSayWhatInvoked(t *testing.T) {
	t.Parallel()
	spans := collector.New()
	server := httptest.NewServer(spans)
	t.Cleanup(server.Close)
	tracer := check.Got(trace.New(t.Context(), trace.Options{
		Tracing: config.Tracing{Endpoint: config.Endpoint(server.URL)}, Now: time.Now,
		Report: func(_ context.Context, op string, err error) { t.Error(op, err) },
	}))(t)
	rt := function.Runtime{Metrics: t.Output(), Stack: "app", Spans: tracer}
	headers := map[string]string{"traceparent": collector.CallerHeader}
	invoked := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{
		ClientContext: lambdacontext.ClientContext{Custom: headers},
	})
	gateway := events.APIGatewayV2HTTPRequest{Headers: headers}
	batch := events.DynamoDBEvent{Records: make([]events.DynamoDBEventRecord, 3)}
	raw := func(in any) json.RawMessage {
		return check.Got(json.Marshal(in))(t)
	}
	want := []string{
		invokeWith(t.Context(), rt, "a-gateway", gateway) + " server http traced",
		invokeWith(t.Context(), rt, "b-raw-gateway", raw(gateway)) + " server http traced",
		invokeWith(t.Context(), rt, "c-url", &events.LambdaFunctionURLRequest{Headers: headers}) + " server http traced",
		invokeWith(invoked, rt, "d-invoked", json.RawMessage(`{"user":"ann"}`)) + " server other traced",
		invokeWith(t.Context(), rt, "e-batch", batch) + " consumer datasource 3",
		invokeWith(t.Context(), rt, "f-raw-batch", raw(batch)) + " consumer datasource 3",
		invokeWith(t.Context(), rt, "g-sweep", json.RawMessage(`{"schedule":"sweep"}`)) + " server timer",
		invokeWith(t.Context(), rt, "h-schedule", function.Schedule("canary")) + " server timer",
		invokeWith(t.Context(), rt, "i-no-json", json.RawMessage(`{`)) + " server http",
	}
	if got := kinds(t, spans, len(want)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// invokeWith invokes a function with an event and returns its name.
func invokeWith[I any](ctx context.Context, rt function.Runtime, name string, in I) string {
	h := function.Measured(rt, name, func(context.Context, I) (struct{}, error) { return struct{}{}, nil })
	_, _ = h(ctx, in) // it has no error
	return name
}

// kinds waits for a number of spans and describes them, sorted.
func kinds(t *testing.T, spans *collector.Collector, n int) []string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		got, more := spans.Spans()
		if len(got) == n {
			var out []string
			for _, s := range got {
				line := []string{s.Name, s.Kind, s.Attributes["faas.trigger"], s.Attributes["throughline.records"]}
				if s.TraceID == collector.CallerTrace && s.Parent == collector.CallerSpan {
					line = append(line, "traced")
				}
				out = append(out, strings.Join(strings.Fields(strings.Join(line, " ")), " "))
			}
			slices.Sort(out)
			return out
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("got %d spans, want %d", len(got), n)
		}
	}
}
