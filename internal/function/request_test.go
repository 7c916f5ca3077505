package function_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/lambdaclient"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/check"
)

// fakeFunction is a function that is invoked directly. It records the request id that its handler has.
type fakeFunction struct {
	t  *testing.T
	id string
}

// Invoke passes on the client context as the Lambda runtime does.
func (f *fakeFunction) Invoke(
	ctx context.Context, in *lambda.InvokeInput, _ ...func(*lambda.Options),
) (*lambda.InvokeOutput, error) {
	lc := &lambdacontext.LambdaContext{AwsRequestID: "invocation-1"}
	if in.ClientContext != nil {
		text, err := base64.StdEncoding.DecodeString(*in.ClientContext)
		check.OK(f.t, err)
		check.OK(f.t, json.Unmarshal(text, &lc.ClientContext))
	}
	handler := function.HTTPOrDirect(nil, func(ctx context.Context, _ json.RawMessage) (any, error) {
		f.id = httpapi.RequestID(ctx)
		return nil, nil //nolint:nilnil // it answers null
	})
	// The invoked function shares no context with its caller.
	_, err := handler(lambdacontext.NewContext(context.WithoutCancel(f.t.Context()), lc), in.Payload)
	return &lambda.InvokeOutput{}, err
}

func TestInvokedFunctionsHaveTheRequestID(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"req_1": "req_1", "": "invocation-1", "a\nb": "invocation-1"} {
		f := &fakeFunction{t: t}
		ctx := t.Context()
		if given != "" {
			ctx = httpapi.WithRequestID(ctx, given)
		}
		in := lambda.InvokeInput{Payload: []byte("{}")}
		check.Got(lambdaclient.Traced(f).Invoke(ctx, &in))(t)
		if f.id != want || in.ClientContext != nil {
			t.Errorf("request %q: the function has %q, want %q; the caller's input became %+v", given, f.id, want, in)
		}
	}
}
