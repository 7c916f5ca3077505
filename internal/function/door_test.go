package function_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdaurl"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestBothDoorsBringTheSameRequest reads the event of each door, and expects the same request from each.
func TestBothDoorsBringTheSameRequest(t *testing.T) {
	t.Parallel()
	type request struct {
		Method, URL, Body, From string
		Header                  http.Header
	}
	requestOf := func(path string) request {
		t.Helper()
		event := check.Got(os.ReadFile(path))(t)
		var in function.DoorRequest
		check.OK(t, json.Unmarshal(event, &in))
		var got request
		handler := function.AnyDoor(lambdaurl.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			for _, ofDoor := range []string{"Host", "User-Agent", "X-Amzn-Trace-Id", "X-Forwarded-Port", "X-Forwarded-Proto"} {
				r.Header.Del(ofDoor)
			}
			got = request{r.Method, r.URL.Path + "?" + r.URL.RawQuery, string(body), r.RemoteAddr, r.Header}
		})), nil)
		out := check.Got(handler(context.Background(), &in))(t)
		check.Got(io.ReadAll(out))(t)
		return got
	}
	url, gateway := requestOf("../../infra/events/coach.json"), requestOf("../../infra/events/coach-gateway.json")
	if diff := cmp.Diff(url, gateway); diff != "" || url.Method != http.MethodPost || url.Body == "" {
		t.Errorf("the function URL (-) and the gateway (+) bring:\n%s", diff)
	}
}

// TestDoorReadsRepeatedHeadersAndQueries reads what a REST API has in lists.
func TestDoorReadsRepeatedHeadersAndQueries(t *testing.T) {
	t.Parallel()
	const event = `{"httpMethod":"GET","path":"/v1/export","headers":{"accept":"b"},` +
		`"multiValueHeaders":{"Accept":["a","b"]},"multiValueQueryStringParameters":{"x":["1 2","&"]}}`
	var in function.DoorRequest
	check.OK(t, json.Unmarshal([]byte(event), &in))
	if in.Headers["accept"] != "a,b" || in.RawQueryString != "x=1+2&x=%26" || in.RequestContext.HTTP.Method != "GET" {
		t.Errorf("read %+v", in)
	}
	if err := json.Unmarshal([]byte(`{"httpMethod":1}`), &in); err != nil {
		t.Errorf("an event of another form: %v", err)
	}
}

// TestScheduleIsNoRequest reads the event of a schedule, and requests that have its words where a client can write.
func TestScheduleIsNoRequest(t *testing.T) {
	t.Parallel()
	var scheduled string
	requests := 0
	failure := errors.New("not built")
	handler := function.AnyDoor(
		func(context.Context, *events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
			requests++
			return &events.LambdaFunctionURLStreamingResponse{Body: http.NoBody}, nil
		},
		func(_ context.Context, schedule string) error {
			scheduled = schedule
			return failure
		},
	)
	send := func(event string) error {
		t.Helper()
		_, err := lambda.NewHandler(handler).Invoke(t.Context(), []byte(event))
		return err
	}
	for _, event := range []string{
		`{"version":"2.0","rawPath":"/v1/chat","body":"{\"schedule\":\"canary\"}"}`,
		`{"httpMethod":"POST","path":"/v1/chat","multiValueQueryStringParameters":{"schedule":["canary"]}}`,
	} {
		if err := send(event); err != nil || scheduled != "" {
			t.Errorf("%s: %v, schedule %q", event, err, scheduled)
		}
	}
	if err := send(`{"schedule":"canary"}`); err == nil || scheduled != "canary" || requests != 2 {
		t.Errorf("the schedule's event: %v, schedule %q, %d requests", err, scheduled, requests)
	}
	if failure = nil; send(`{"schedule":"canary"}`) != nil {
		t.Error("a schedule that succeeds is an error")
	}
}
