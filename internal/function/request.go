package function

import (
	"context"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/throughline/throughline/internal/httpapi"
)

// ClientRequestID is the key of a request's id in the client context of an invocation.
const ClientRequestID = "requestId"

// withRequestID sets the request id of a direct invocation: the caller's, or else the invocation's own.
func withRequestID(ctx context.Context) context.Context {
	lc, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return ctx
	}
	if id := lc.ClientContext.Custom[ClientRequestID]; httpapi.ValidRequestID(id) {
		return httpapi.WithRequestID(ctx, id)
	}
	return httpapi.WithRequestID(ctx, lc.AwsRequestID)
}
