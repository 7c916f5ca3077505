package function

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// DoorRequest is a request at the door of the chat, which is a REST API or a function URL. It reads the events of both.
type DoorRequest struct {
	events.LambdaFunctionURLRequest
}

// UnmarshalJSON reads the event of a function URL, which is in payload format 2.0, or that of a REST API, in 1.0.
func (r *DoorRequest) UnmarshalJSON(raw []byte) error {
	var e events.APIGatewayProxyRequest
	if err := json.Unmarshal(raw, &e); err != nil || e.HTTPMethod == "" {
		return json.Unmarshal(raw, &r.LambdaFunctionURLRequest)
	}
	r.LambdaFunctionURLRequest = events.LambdaFunctionURLRequest{
		Version: "1.0", RawPath: e.Path, RawQueryString: url.Values(e.MultiValueQueryStringParameters).Encode(),
		Headers: joined(e.MultiValueHeaders), Body: e.Body, IsBase64Encoded: e.IsBase64Encoded,
		RequestContext: events.LambdaFunctionURLRequestContext{
			AccountID: e.RequestContext.AccountID, RequestID: e.RequestContext.RequestID, APIID: e.RequestContext.APIID,
			DomainName: e.RequestContext.DomainName, DomainPrefix: e.RequestContext.DomainPrefix,
			Time: e.RequestContext.RequestTime, TimeEpoch: e.RequestContext.RequestTimeEpoch,
			HTTP: events.LambdaFunctionURLRequestContextHTTPDescription{
				Method: e.HTTPMethod, Path: e.Path, Protocol: e.RequestContext.Protocol,
				SourceIP: e.RequestContext.Identity.SourceIP, UserAgent: e.RequestContext.Identity.UserAgent,
			},
		},
	}
	return nil
}

// joined returns headers as a function URL has them: with names in lower case, and repeated ones with commas.
func joined(headers map[string][]string) map[string]string {
	out := make(map[string]string, len(headers))
	for name, values := range headers {
		out[strings.ToLower(name)] = strings.Join(values, ",")
	}
	return out
}

// AnyDoor makes a handler of a function URL one of both doors. The answers have the same form.
func AnyDoor(h stream) func(context.Context, *DoorRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
	return func(ctx context.Context, r *DoorRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
		return h(ctx, &r.LambdaFunctionURLRequest)
	}
}
