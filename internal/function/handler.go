package function

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/invoke"
)

// HTTPHandler is a handler of the HTTP API's events.
type HTTPHandler func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// PayloadHandler is a handler that takes more than one kind of event.
type PayloadHandler func(context.Context, json.RawMessage) (any, error)

// Measured wraps a handler so that each invocation writes one line of metrics, and makes a span.
func Measured[I, O any](
	rt Runtime, name string, h func(context.Context, I) (O, error),
) func(context.Context, I) (O, error) {
	recorder := rt.Recorder(name)
	return func(ctx context.Context, in I) (out O, err error) {
		ctx, end := recorder.Begin(ctx, RequestID(ctx))
		defer end()
		if rt.Spans != nil {
			var finish func(error)
			ctx, finish = rt.Spans.Begin(ctx, invocationOf(ctx, name, in))
			defer func() { finish(err) }()
		}
		return h(ctx, in)
	}
}

// stream is a handler of the function URL, whose answer goes on after it has returned.
type stream = func(
	context.Context, *events.LambdaFunctionURLRequest,
) (*events.LambdaFunctionURLStreamingResponse, error)

// MeasuredStream wraps a handler so that each invocation writes one line of metrics at the end of its answer's stream,
// and makes a span that ends there.
func MeasuredStream(rt Runtime, name string, h stream) stream {
	recorder := rt.Recorder(name)
	return func(
		ctx context.Context, in *events.LambdaFunctionURLRequest,
	) (*events.LambdaFunctionURLStreamingResponse, error) {
		ctx, end := recorder.Begin(ctx, RequestID(ctx))
		finish := func(error) {}
		if rt.Spans != nil {
			ctx, finish = rt.Spans.Begin(ctx, invocationOf(ctx, name, in))
		}
		out, err := h(ctx, in)
		if err != nil || out.Body == nil {
			end()
			finish(err)
			return out, err
		}
		out.Body = &measuredBody{out.Body, sync.OnceFunc(func() { end(); finish(nil) })}
		return out, nil
	}
}

// measuredBody calls end when there is nothing more to read, or when it is closed before.
type measuredBody struct {
	io.Reader
	end func()
}

// Read implements io.Reader.
func (b *measuredBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

// Close closes the body where it can be closed.
func (b *measuredBody) Close() error {
	b.end()
	if c, ok := b.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// maxAnswer is the most bytes that a Lambda answers in one piece.
const maxAnswer = 6 << 20

// Direct passes direct invocations to a handler. Its errors become Lambda function errors. An answer that is too large
// is one.
func Direct(direct PayloadHandler) PayloadHandler {
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		out, err := direct(withRequestID(ctx), payload)
		if err != nil {
			return nil, invoke.Error(err)
		}
		encoded, err := json.Marshal(out)
		if err != nil {
			return nil, invoke.Error(err)
		}
		if len(encoded) > maxAnswer {
			return nil, invoke.Error(fault.Newf(fault.TooLarge, "the answer has more than %d bytes", maxAnswer))
		}
		return json.RawMessage(encoded), nil
	}
}

// HTTPOrDirect passes events of the HTTP API to http and other payloads to direct. Only the gateway's events have a
// request context. Errors of a direct invocation become Lambda function errors.
func HTTPOrDirect(http HTTPHandler, direct PayloadHandler) PayloadHandler {
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		var event struct {
			RequestContext *struct {
				HTTP *struct{} `json:"http"`
			} `json:"requestContext"`
		}
		isHTTP := json.Unmarshal(payload, &event) == nil && event.RequestContext != nil && event.RequestContext.HTTP != nil
		if !isHTTP {
			return Direct(direct)(ctx, payload)
		}
		var request events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(payload, &request); err != nil {
			return nil, invoke.Error(err)
		}
		return http(ctx, request)
	}
}
