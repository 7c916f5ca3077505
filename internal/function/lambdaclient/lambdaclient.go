// Package lambdaclient builds the client of the Lambda API, for the functions that invoke functions.
package lambdaclient

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/invoke/caller"
	"github.com/throughline/throughline/internal/trace"
)

// maxInvokeTime is the longest attempt of an invocation. A prompt has 20 s, in which there is time for two attempts,
// and takes a second where its function has to start first.
const maxInvokeTime = 10 * time.Second

// New returns the client with which the coach function invokes the prompt function, and the sweep its workers.
func New(cfg config.Config) *lambda.Client {
	client := function.AWS(cfg, cfg.LambdaEndpoint)
	client.HTTPClient = function.InAttempts(cfg.Tracing, maxInvokeTime)
	return lambda.NewFromConfig(client)
}

// Traced returns a client that passes the id of the current request, and its trace, to the functions that it invokes,
// so that the log lines of both have the id and the spans of both are of one trace.
func Traced(client caller.Client) caller.Client { return traced{client} }

type traced struct{ caller.Client }

// Invoke adds the request id and the trace to the client context and calls the client.
func (t traced) Invoke(
	ctx context.Context, in *lambda.InvokeInput, options ...func(*lambda.Options),
) (*lambda.InvokeOutput, error) {
	custom := trace.Caller(ctx)
	if id := httpapi.RequestID(ctx); id != "" {
		custom[function.ClientRequestID] = id
	}
	if len(custom) > 0 {
		text, _ := json.Marshal(map[string]any{"custom": custom}) // texts always marshal
		with, encoded := *in, base64.StdEncoding.EncodeToString(text)
		with.ClientContext, in = &encoded, &with
	}
	return t.Client.Invoke(ctx, in, options...)
}
