// Package trace makes the spans of invocations and sends the spans of a function to a collector, in OpenTelemetry's
// protocol. Below an invocation's span are those of the domain (package span), and those of each request to AWS, a
// model or the vector index, which OpenTelemetry's own instrumentation makes of the functions' clients. Where no
// collector is configured, there is nothing of it.
//
// Spans have ids, sizes, names and codes of errors, and no texts: what the libraries say of an error is left out.
package trace

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/throughline/throughline/internal/config"
)

// scope names this package in each span.
const scope = "github.com/throughline/throughline"

// maxValue is the most characters of an attribute. Longer ones are cut.
const maxValue = 1 << 10

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
		// A caller's trace context can leave its trace out.
		sdk.WithSampler(sdk.ParentBased(sdk.AlwaysSample())), sdk.WithRawSpanLimits(spanLimits()),
		sdk.WithBatcher(exporter, sdk.WithBatchTimeout(batchTime), sdk.WithExportTimeout(sendTime)),
	)
	t := &Tracer{
		provider: provider, spans: provider.Tracer(scope), ended: make(chan string, waitingEnds),
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

// spanLimits bounds attributes, and leaves out events, which are the texts of errors.
func spanLimits() sdk.SpanLimits {
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit, limits.EventCountLimit = maxValue, 0
	return limits
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
