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

// clientRequestID is the name of a request's id in the client context of an invocation.
const clientRequestID = "requestId"

// Traced returns a client that tells a function which request it is invoked for, so that the id stands in the log lines
// of both (api 1).
func Traced(client invoke.Client) invoke.Client { return traced{client} }

type traced struct{ invoke.Client }

// Invoke is the client's, with the context's request id in the client context.
func (t traced) Invoke(ctx context.Context, in *lambda.InvokeInput, options ...func(*lambda.Options)) (*lambda.InvokeOutput, error) {
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

// invoked gives a direct invocation the id of the request that it works for: the caller's, else the invocation's own.
func invoked(ctx context.Context) context.Context {
	lc, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return ctx
	}
	if id := lc.ClientContext.Custom[clientRequestID]; httpapi.ValidRequestID(id) {
		return httpapi.WithRequestID(ctx, id)
	}
	return httpapi.WithRequestID(ctx, lc.AwsRequestID)
}
