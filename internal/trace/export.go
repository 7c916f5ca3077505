package trace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/throughline/throughline/internal/transport"
)

const (
	// sendTime is how long one attempt to send may take, and flushTime how long the spans of an invocation may.
	sendTime  = 2 * time.Second
	flushTime = 2500 * time.Millisecond
	// batchTime is how long spans wait for more of them where the process is not frozen.
	batchTime = time.Second
	// patience is how many failures in a row pause the sending. The first one may be a connection that died while the
	// function was frozen. Spans that end in a pause are dropped.
	patience = 2
	pause    = time.Minute
)

// newExporter returns what sends spans to the collector.
func newExporter(ctx context.Context, o Options) (sdk.SpanExporter, error) {
	headers, err := parseHeaders(o.Headers)
	if err != nil {
		return nil, err
	}
	address, err := url.JoinPath(string(o.Endpoint), "v1", "traces")
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	client := &http.Client{Transport: o.Transport}
	if o.Transport == nil {
		client.Transport = transport.NewHTTP(time.Second)
	}
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(address), otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithTimeout(sendTime), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}),
		otlptracehttp.WithHTTPClient(client),
	)
	if err != nil {
		return nil, fmt.Errorf("make exporter of spans: %w", err)
	}
	return &patient{SpanExporter: exporter, now: o.Now, report: o.Report}, nil
}

var errHeaders = errors.New("OTEL_EXPORTER_OTLP_HEADERS must be name=value,name=value, with values in URL encoding")

// parseHeaders reads "api-key=secret,x=y" (OpenTelemetry Protocol Exporter, "Specifying headers via environment
// variables").
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || name == "" || err != nil {
			return nil, errHeaders // without the text, which is a secret
		}
		headers[name] = decoded
	}
	return headers, nil
}

// patient sends spans until the collector fails several times in a row, and then drops them for a while: each attempt
// holds the function's instance for up to sendTime. Its failures are reported here and end here.
type patient struct {
	sdk.SpanExporter
	now    func() time.Time
	report func(ctx context.Context, op string, err error)

	mu       sync.Mutex
	failures int
	until    time.Time
}

// ExportSpans implements sdk.SpanExporter. It returns no error.
func (p *patient) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if p.pausing() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	silent := make([]sdk.ReadOnlySpan, len(spans))
	for i, s := range spans {
		silent[i] = silentSpan{s}
	}
	err := p.SpanExporter.ExportSpans(ctx, silent)
	if p.count(err) {
		p.report(ctx, fmt.Sprintf("send %d spans", len(spans)), err)
	}
	return nil
}

// silentSpan is a span without the text of its error, which may be a vendor's and repeat what was sent.
type silentSpan struct{ sdk.ReadOnlySpan }

// Status implements sdk.ReadOnlySpan.
func (s silentSpan) Status() sdk.Status { return sdk.Status{Code: s.ReadOnlySpan.Status().Code} }

func (p *patient) pausing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now().Before(p.until)
}

// count notes an attempt, and reports whether a pause begins with it.
func (p *patient) count(err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.failures = 0
		return false
	}
	if p.failures++; p.failures < patience {
		return false
	}
	p.failures, p.until = patience-1, p.now().Add(pause) // after the pause, one failure is enough
	return true
}
