package function

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/invoke"
)

// clientRequestID is the key of a request's id in the client context of an invocation.
const clientRequestID = "requestId"

// Traced returns a client that passes the id of the current request to the functions that it invokes, so that the log
// lines of both have it.
func Traced(client invoke.Client) invoke.Client { return traced{client} }

type traced struct{ invoke.Client }

// Invoke adds the request id to the client context and calls the client.
func (t traced) Invoke(
	ctx context.Context, in *lambda.InvokeInput, options ...func(*lambda.Options),
) (*lambda.InvokeOutput, error) {
	if id := httpapi.RequestID(ctx); id != "" {
		text, err := json.Marshal(map[string]any{"custom": map[string]string{clientRequestID: id}})
		if err != nil {
			return nil, err
		}
		with, encoded := *in, base64.StdEncoding.EncodeToString(text)
		with.ClientContext, in = &encoded, &with
	}
	return t.Client.Invoke(ctx, in, options...)
}

// withRequestID sets the request id of a direct invocation: the caller's, or else the invocation's own.
func withRequestID(ctx context.Context) context.Context {
	lc, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return ctx
	}
	if id := lc.ClientContext.Custom[clientRequestID]; httpapi.ValidRequestID(id) {
		return httpapi.WithRequestID(ctx, id)
	}
	return httpapi.WithRequestID(ctx, lc.AwsRequestID)
}
