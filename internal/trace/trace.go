// Package trace sends spans of turns, prompts, searches, writes and model calls to a collector, in OpenTelemetry's
// protocol and by its conventions for generative AI. The domain knows nothing of it: these types wrap what the domain
// consumes and what it offers, where the functions are built. Where no collector is configured, nothing is wrapped.
//
// Spans have ids, sizes, names of models and codes of errors. They have texts of users only where Config.Content asks
// for them.
package trace

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/fault"
)

// scope names this package in each span.
const scope = "github.com/throughline/throughline"

// maxValue and maxContent are the most characters of an attribute, without and with contents. Longer ones are cut.
const (
	maxValue   = 1 << 10
	maxContent = 64 << 10
)

// Options describe a function whose spans are sent.
type Options struct {
	config.Tracing
	// Stack and Function name the function: the spans' service.name is both.
	Stack, Function string
	Region          string
	// RuntimeAPI is the address of Lambda's runtime API. It is empty outside Lambda, where nothing freezes the process.
	RuntimeAPI string
	// Report gets the failures of sending, at most one in each pause.
	Report func(ctx context.Context, op string, err error)
	Now    func() time.Time
	// Transport sends requests to the collector. The default keeps a connection to it.
	Transport http.RoundTripper
}

// Tracer makes the spans of one function. A nil Tracer makes none: its methods return what they are given. It is safe
// for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	spans    otel.Tracer
	ended    chan string
	now      func() time.Time
	content  bool
	cold     coldStart
}

// New returns a tracer, or nil where no collector is configured. It sends until ctx ends. In Lambda it registers an
// extension of the function's own process, with which the spans of an invocation are sent after its answer.
func New(ctx context.Context, o Options) (*Tracer, error) {
	if o.Endpoint == "" {
		return nil, nil //nolint:nilnil // a nil Tracer is one that makes no spans
	}
	exporter, err := newExporter(ctx, o)
	if err != nil {
		return nil, err
	}
	provider := sdk.NewTracerProvider(
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.namespace", o.Stack), attribute.String("service.name", o.Stack+"-"+o.Function),
			attribute.String("cloud.provider", "aws"), attribute.String("cloud.region", o.Region),
			attribute.String("faas.name", o.Stack+"-"+o.Function),
		)),
		sdk.WithSampler(sampler(o.Share)), sdk.WithRawSpanLimits(spanLimits(o.Content)),
		sdk.WithBatcher(exporter, sdk.WithBatchTimeout(batchTime), sdk.WithExportTimeout(sendTime)),
	)
	t := &Tracer{
		provider: provider, spans: provider.Tracer(scope), ended: make(chan string, waitingEnds), now: o.Now,
		content: o.Content,
	}
	context.AfterFunc(ctx, t.shutDown)
	if o.RuntimeAPI != "" {
		e := &extension{client: &http.Client{}, api: o.RuntimeAPI, ended: t.ended, flush: t.flush, report: o.Report}
		if err := e.start(ctx); err != nil {
			o.Report(ctx, "register extension for spans", err) // spans are sent with later ones
		}
	}
	return t, nil
}

func spanLimits(content bool) sdk.SpanLimits {
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxValue
	if content {
		limits.AttributeValueLengthLimit = maxContent
	}
	return limits
}

// sampler sends a share of the traces, by their ids, so that all functions decide alike. A caller's trace context can
// leave its trace out. Its flag cannot have more than the share sent, because anybody may send that header.
func sampler(share config.Share) sdk.Sampler {
	byID := sdk.TraceIDRatioBased(float64(share))
	return sdk.ParentBased(byID, sdk.WithRemoteParentSampled(byID))
}

// shutDown sends what is left.
func (t *Tracer) shutDown() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has reported what failed
}

// flush sends the spans that have ended, and gives up after flushTime.
func (t *Tracer) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	_ = t.provider.ForceFlush(ctx) // the exporter has reported what failed
}

// start begins a span below that of the context.
func (t *Tracer) start(
	ctx context.Context, name string, kind otel.SpanKind, attributes ...attribute.KeyValue,
) (context.Context, otel.Span) {
	if id, ok := ctx.Value(conversationKey{}).(string); ok {
		attributes = append(attributes, attribute.String(conversationID, id))
	}
	return t.spans.Start(ctx, name, otel.WithSpanKind(kind), otel.WithAttributes(attributes...))
}

type conversationKey struct{}

// inConversation returns a context whose spans have the id of a session.
func inConversation(ctx context.Context, sessionID string) context.Context {
	return context.WithValue(ctx, conversationKey{}, sessionID)
}

// end ends a span. The span of an error has the error's code and never its text, which may be a vendor's.
func end(span otel.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(attribute.String(errorType, kindOf(err)))
	}
	span.End()
}

// kindOf is the class of an error.
func kindOf(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return string(fault.CodeOf(err))
}
