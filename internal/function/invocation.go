package function

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/throughline/throughline/internal/trace"
)

// Schedule is the name of a schedule that invokes a function.
type Schedule string

// invocationOf describes an invocation for its span. The trace context of the caller is in the headers of a request, or
// in the client context of a direct invocation.
func invocationOf(ctx context.Context, name string, in any) trace.Invocation {
	out := trace.Invocation{Name: name, RequestID: RequestID(ctx), Trigger: trace.TriggerHTTP}
	switch in := in.(type) {
	case events.APIGatewayV2HTTPRequest:
		out.Caller = in.Headers
	case *events.LambdaFunctionURLRequest:
		out.Caller = in.Headers
	case events.DynamoDBEvent:
		out.Trigger, out.Records = trace.TriggerData, len(in.Records)
	case json.RawMessage:
		describe(ctx, in, &out)
	case Schedule:
		out.Trigger = trace.TriggerTimer
	default:
		out.Trigger = trace.TriggerInvoke
	}
	return out
}

// describe distinguishes the kinds of events that a function may get.
func describe(ctx context.Context, payload json.RawMessage, out *trace.Invocation) {
	var event struct {
		Headers  map[string]string
		Records  []json.RawMessage
		Schedule string
	}
	_ = json.Unmarshal(payload, &event) // the handler says what is wrong
	lc, isInvoked := lambdacontext.FromContext(ctx)
	switch {
	case len(event.Records) > 0:
		out.Trigger, out.Records = trace.TriggerData, len(event.Records)
	case event.Schedule != "":
		out.Trigger = trace.TriggerTimer
	case event.Headers != nil:
		out.Caller = event.Headers
	case isInvoked:
		out.Trigger, out.Caller = trace.TriggerInvoke, lc.ClientContext.Custom
	}
}
