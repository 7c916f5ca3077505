package trace

import (
	"net/http"
	"path"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
)

// noHeaders sends vendors no trace context.
var noHeaders = propagation.NewCompositeTextMapPropagator()

// Transport makes a span of each request below the span of its context. It ends with the body of the answer.
func Transport(next http.RoundTripper) http.RoundTripper {
	return otelhttp.NewTransport(next, otelhttp.WithPropagators(noHeaders), otelhttp.WithSpanNameFormatter(
		func(_ string, r *http.Request) string { return requestName(r) }))
}

// requestName is what a request asks for: of DynamoDB the operation, of other services the end of the path, as in
// "POST embeddings".
func requestName(r *http.Request) string {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		service, operation, _ := strings.Cut(target, ".")
		service, _, _ = strings.Cut(service, "_")
		return service + " " + operation
	}
	return r.Method + " " + path.Base(r.URL.Path)
}

// Dial makes a span of each call of a connection.
func (t *Tracer) Dial() []grpc.DialOption {
	if t == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(
		otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(t.provider), otelgrpc.WithPropagators(noHeaders)))}
}
