package lambdaapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/internal/testing/check"
)

type customError struct{}

func (*customError) Error() string { return "custom" }

type echo struct {
	Text string `json:"text"`
}

// TestAnswersDoNotMix calls one function many times at once. Each caller has to get its own response.
func TestAnswersDoNotMix(t *testing.T) {
	t.Parallel()
	runtime := lambdaapi.NewRuntime(slog.New(slog.DiscardHandler))
	runtime.Register("f", func(_ context.Context, in echo) (echo, error) { return in, nil }, time.Minute)
	var wait sync.WaitGroup
	for i := range 200 {
		wait.Go(func() {
			want := fmt.Sprintf(`{"text":"%03d %s"}`, i, strings.Repeat("x", 1000))
			out, err := runtime.Invoke(t.Context(), "f", []byte(want))
			if err != nil || strings.TrimSpace(string(out)) != want {
				t.Errorf("invocation %d got %.40s, %v", i, out, err)
			}
		})
	}
	wait.Wait()
}

func TestRequestResponse(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		handler any
		want    string // the payload
		failed  bool
	}{
		{"answer", func(_ context.Context, in echo) (echo, error) { return in, nil }, `{"text":"hi"}`, false},
		{
			"plain error",
			func() error { return errors.New("no") },
			`{"errorMessage":"no","errorType":"errorString"}`,
			true,
		},
		{
			"own error",
			func() error { return &customError{} },
			`{"errorMessage":"custom","errorType":"customError"}`,
			true,
		},
		{
			"coded error",
			func() error { return messages.InvokeResponse_Error{Type: "not_found", Message: "session not found"} },
			`{"errorMessage":"session not found","errorType":"not_found"}`, true,
		},
		{"panic", func() error { panic("boom") }, `{"errorMessage":"boom","errorType":"string"}`, true},
		{
			"nil pointer", func() error { var none *echo; return errors.New(textOf(none)) },
			`{"errorMessage":"runtime error: invalid memory address or nil pointer dereference","errorType":"errorString"}`,
			true,
		},
		{
			"event of another shape", func(_ context.Context, in struct{ Text int }) error { return nil },
			`{"errorMessage":"json: cannot unmarshal string into Go struct field .Text of type int",` +
				`"errorType":"UnmarshalTypeError"}`, true,
		},
		{
			"answer too large", func() (string, error) { return strings.Repeat("x", lambdaapi.MaxSyncPayload+100), nil },
			`{"errorMessage":"Response payload size exceeded maximum allowed payload size (6291556 bytes).",` +
				`"errorType":"Function.ResponseSizeTooLarge"}`, true,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			client, runtime := serve(t)
			runtime.Register("f", c.handler, time.Minute)
			out := check.Got(client.Invoke(
				t.Context(),
				&lambda.InvokeInput{FunctionName: aws.String("f"), Payload: []byte(`{"text":"hi"}`)},
			))(t)
			check.Same(t, decode(t, []byte(c.want)), decode(t, out.Payload), "payload")
			if kind := aws.ToString(out.FunctionError); (kind == "Unhandled") != c.failed {
				t.Errorf("function error %q, want failed %v", kind, c.failed)
			}
		})
	}
}

func textOf(e *echo) string { return e.Text }

func TestTimeoutAndContext(t *testing.T) {
	t.Parallel()
	client, runtime := serve(t)
	seen := make(chan *lambdacontext.LambdaContext, 1)
	runtime.Register("slow", func(ctx context.Context) error {
		lc, _ := lambdacontext.FromContext(ctx)
		seen <- lc
		<-ctx.Done()
		return ctx.Err()
	}, 50*time.Millisecond)
	out := check.Got(client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("slow")}))(t)
	lc := <-seen
	want := "RequestId: " + lc.AwsRequestID + " Error: Task timed out after 0.05 seconds"
	if got := decode(t, out.Payload); got["errorType"] != "Sandbox.Timedout" || got["errorMessage"] != want {
		t.Errorf("payload %v, want %q", got, want)
	}
	if len(lc.AwsRequestID) != 36 || lc.InvokedFunctionArn != "arn:aws:lambda:us-east-1:000000000000:function:slow" {
		t.Errorf("context: %+v", lc)
	}
}

func TestCallerGoneLeavesTheFunctionRunning(t *testing.T) {
	t.Parallel()
	_, runtime := serve(t)
	started, release, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	runtime.Register("f", func(ctx context.Context) error {
		close(started)
		<-release
		result <- ctx.Err()
		return nil
	}, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := runtime.Invoke(ctx, "f", []byte("{}")); !errors.Is(err, context.Canceled) {
		t.Errorf("invoke: %v, want the caller's cancellation", err)
	}
	close(release)
	if err := <-result; err != nil {
		t.Errorf("the function's context ended with its caller: %v", err)
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()
	client, runtime := serve(t)
	calls := make(chan string, 10)
	var attempts atomic.Int64
	runtime.Register("f", func(_ context.Context, in echo) error {
		calls <- in.Text
		if attempts.Add(1) == 1 {
			return errors.New("once")
		}
		return nil
	}, time.Minute)
	out, err := client.Invoke(t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String("f"), InvocationType: types.InvocationTypeEvent, Payload: []byte(`{"text":"later"}`),
	})
	if err != nil || out.StatusCode != 202 {
		t.Fatalf("event: status %v, error %v", out, err)
	}
	for _, attempt := range []string{"first", "retry"} {
		check.Equal(t, "later", <-calls, "%s attempt got", attempt)
	}
}

// pathStreamer streams the path of its request.
type pathStreamer struct{}

func (pathStreamer) Stream(_ context.Context, in *lambdaapi.URLRequest) (*lambdaapi.URLResponse, error) {
	if in.RawPath == "/panic" {
		panic("boom")
	}
	return &lambdaapi.URLResponse{StatusCode: 200, Body: strings.NewReader(in.RawPath)}, nil
}

func TestStreamLastsUntilItsBodyIsClosed(t *testing.T) {
	t.Parallel()
	_, runtime := serve(t)
	runtime.Register("s", pathStreamer{}, time.Minute)
	response := check.Got(runtime.Stream("s", []byte(`{"rawPath":"/v1/chat"}`)))(t)
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "/v1/chat" {
		t.Errorf("body %q, error %v", body, err)
	}
	if runtime.Active() != 1 {
		t.Errorf("active %d before Close, want 1", runtime.Active())
	}
	if err := response.Close(); err != nil || runtime.Active() != 0 {
		t.Errorf("after Close: %v, active %d", err, runtime.Active())
	}
	var failure *lambdaapi.FunctionError
	if _, err := runtime.Stream("s", []byte(`{"rawPath":"/panic"}`)); !errors.As(err, &failure) {
		t.Errorf("panic: %v", err)
	}
	if runtime.Active() != 0 {
		t.Errorf("active %d after a panic", runtime.Active())
	}
}

func TestCloseEndsInvocationsAndRefusesLaterOnes(t *testing.T) {
	t.Parallel()
	runtime := lambdaapi.NewRuntime(slog.New(slog.DiscardHandler))
	started := make(chan struct{})
	runtime.Register("f", func(ctx context.Context) error { close(started); <-ctx.Done(); return nil }, time.Minute)
	done := make(chan error, 1)
	go func() { _, err := runtime.Invoke(context.Background(), "f", nil); done <- err }()
	<-started
	check.OK(t, runtime.Close(t.Context()))
	var failure *lambdaapi.FunctionError
	if err := <-done; !errors.As(err, &failure) || !errors.Is(err, lambdaapi.ErrStopping) {
		t.Errorf("the invocation that was under way: %v, want a function error that says why", err)
	}
	if _, err := runtime.Invoke(t.Context(), "f", nil); !errors.Is(err, lambdaapi.ErrStopping) {
		t.Errorf("an invocation after Close: %v", err)
	}
}

func serve(t *testing.T) (*lambda.Client, *lambdaapi.Runtime) {
	t.Helper()
	runtime := lambdaapi.NewRuntime(slog.New(slog.DiscardHandler))
	server := httptest.NewServer(runtime.Handler())
	t.Cleanup(func() {
		server.Close()
		if err := runtime.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return lambda.New(lambda.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}), runtime
}

func decode(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("decode %q: %v", raw, err)
	}
	return out
}
