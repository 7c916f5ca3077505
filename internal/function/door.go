package function

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// DoorRequest is a request at the door of the chat, which is a REST API or a function URL, or the event of a schedule.
// It reads the events of all three.
type DoorRequest struct {
	events.LambdaFunctionURLRequest
	// Schedule is the name of the schedule. It is empty at the doors: their events have a client's words only inside of
	// the body, the headers and the query.
	Schedule string
}

// UnmarshalJSON reads the event of a function URL, which is in payload format 2.0, that of a REST API, in 1.0, or that
// of a schedule, which has nothing but its name.
func (r *DoorRequest) UnmarshalJSON(raw []byte) error {
	var e struct {
		events.APIGatewayProxyRequest
		Schedule string `json:"schedule"`
	}
	if err := json.Unmarshal(raw, &e); err != nil || e.HTTPMethod == "" {
		r.Schedule = e.Schedule
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

// DoorHandler takes the requests of both doors, and the events of schedules.
type DoorHandler func(context.Context, *DoorRequest) (*events.LambdaFunctionURLStreamingResponse, error)

// Stream takes a request of the function URL.
func (h DoorHandler) Stream(
	ctx context.Context, r *events.LambdaFunctionURLRequest,
) (*events.LambdaFunctionURLStreamingResponse, error) {
	return h(ctx, &DoorRequest{LambdaFunctionURLRequest: *r})
}

// AnyDoor passes the requests of both doors to url, a handler of a function URL, because the answers have the same
// form. It passes what a schedule sends to scheduled, whose error is that of the invocation.
func AnyDoor(url stream, scheduled func(ctx context.Context, schedule string) error) DoorHandler {
	return func(ctx context.Context, r *DoorRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
		if r.Schedule == "" {
			return url(ctx, &r.LambdaFunctionURLRequest)
		}
		if err := scheduled(ctx, r.Schedule); err != nil {
			return nil, err
		}
		return &events.LambdaFunctionURLStreamingResponse{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
	}
}
