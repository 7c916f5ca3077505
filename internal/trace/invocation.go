package trace

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	otel "go.opentelemetry.io/otel/trace"
)

// The headers of the W3C trace context, in lower case.
const (
	TraceParent = "traceparent"
	TraceState  = "tracestate"
)

// The triggers of an invocation by the conventions for functions.
const (
	TriggerHTTP   = "http"
	TriggerData   = "datasource"
	TriggerTimer  = "timer"
	TriggerInvoke = "other"
)

// Invocation is one invocation of a function.
type Invocation struct {
	// Name is the function's. A request of the HTTP API gets the name of its route later.
	Name, Trigger, RequestID string
	// Caller has the trace context of the caller, in the names of the headers in lower case.
	Caller map[string]string
	// Records is how many records a batch has.
	Records int
}

// coldStart is true once.
type coldStart struct{ warm atomic.Bool }

func (c *coldStart) is() bool { return !c.warm.Swap(true) }

// Begin begins the span of an invocation. What the context gets is the parent of every span in it. finish ends the span
// and lets it be sent.
func (t *Tracer) Begin(ctx context.Context, in Invocation) (_ context.Context, finish func(err error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	kind := otel.SpanKindServer
	if in.Trigger == TriggerData {
		kind = otel.SpanKindConsumer
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(in.Caller))
	ctx, span := t.spans.Start(ctx, in.Name, otel.WithSpanKind(kind), otel.WithAttributes(
		attribute.String("faas.trigger", in.Trigger), attribute.String("faas.invocation_id", in.RequestID),
		attribute.Bool("faas.coldstart", t.cold.is()),
	))
	if in.Records > 0 {
		span.SetAttributes(attribute.Int("throughline.records", in.Records))
	}
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
		select {
		case t.ended <- in.RequestID:
		default: // nobody follows the invocations
		}
	}
}

// Requested names the span of an invocation after its request's route, as in "POST /v1/chat", and says what it came
// to. It changes nothing in a context without a span.
func Requested(ctx context.Context, method, route string, status int) {
	span := otel.SpanFromContext(ctx)
	if route != "" {
		span.SetName(route)
		_, path, _ := strings.Cut(route, " ")
		span.SetAttributes(attribute.String("http.route", path))
	}
	span.SetAttributes(attribute.String("http.request.method", method),
		attribute.Int("http.response.status_code", status))
	if status >= serverError {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
	}
}

// serverError is the first status of an error that is the server's own.
const serverError = 500

// maxState is the longest state of the caller's vendors that is passed on (W3C Trace Context, section 3.3.1.5).
const maxState = 512

// Caller returns what the Invocation of a function needs to continue the trace of this context. It is empty in a
// context without a trace. Lambda refuses an invocation with more than 3,583 bytes of it, so a long state is left out.
func Caller(ctx context.Context) map[string]string {
	headers := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, headers)
	if len(headers[TraceState]) > maxState {
		delete(headers, TraceState)
	}
	return headers
}
