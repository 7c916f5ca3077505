package function_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/function/lambdaclient"
	"github.com/throughline/throughline/internal/testing/faultstest"
)

// operationTime is the time of an operation whose first attempt has no answer.
const operationTime = 2 * time.Second

// answer writes what DynamoDB answers to the tests' query.
func answer(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, _ = io.WriteString(w, body)
}

// meeting returns a function that waits until n callers are in it.
func meeting(n int) func() {
	var callers sync.WaitGroup
	callers.Add(n)
	return func() {
		callers.Done()
		callers.Wait()
	}
}

// TestABodyThatStopsCostsOneAttempt has the first answer stop in its middle, with its connection open.
func TestABodyThatStopsCostsOneAttempt(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 1 {
			answer(w, oneItem)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a client who goes only after the body
		answer(w, oneItem[:len(oneItem)/2])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), operationTime)
	defer cancel()
	query(t, ctx, tableAt(server.URL))
}

// TestACallerWhoGoesKeepsTheConnections cancels a request beside idle connections. On a busy machine net/http gives up
// a connection or two by itself; without the rule all would be new.
func TestACallerWhoGoesKeepsTheConnections(t *testing.T) {
	t.Parallel()
	const connections = 8
	ctx, leave := context.WithCancel(t.Context())
	var calls atomic.Int64
	before, after := meeting(connections), meeting(connections-1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch n := calls.Add(1); {
		case n <= connections: // each on a connection of its own
			before()
		case n == connections+1:
			leave()
			<-r.Context().Done()
			return
		default:
			after()
		}
		answer(w, oneItem)
	}))
	t.Cleanup(server.Close)
	network := faultstest.NewNetwork(t, strings.TrimPrefix(server.URL, "http://"))
	client := tableAt("http://" + network.Address)
	queries := func(n int) {
		var requests sync.WaitGroup
		for range n {
			requests.Go(func() { query(t, t.Context(), client) })
		}
		requests.Wait()
	}
	queries(connections)
	if _, err := ask(ctx, client); err == nil {
		t.Error("a request without a caller was answered")
	}
	queries(connections - 1)
	if n := network.Connections(); n >= connections+(connections-1)/2 {
		t.Errorf("%d connections, want most of the %d of before", n, connections)
	}
}

// TestAThrottledTableIsAskedAgainSoon throttles as often as the client may try again.
func TestAThrottledTableIsAskedAgainSoon(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 5 {
			w.Header().Set("X-Amzn-ErrorType", "ThrottlingException")
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer(w, oneItem)
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), operationTime)
	defer cancel()
	query(t, ctx, tableAt(server.URL))
}

// TestAnInvocationWithoutAnswerIsRepeated never answers the first invocation, as on a dead connection.
func TestAnInvocationWithoutAnswerIsRepeated(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	invokePrompt(t, operationTime, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			<-r.Context().Done() // the client gives up
			return
		}
		_, _ = io.WriteString(w, `{"promptId":"p"}`)
	})
	if calls.Load() != 2 {
		t.Errorf("%d calls", calls.Load())
	}
}

// TestASlowInvocationIsWaitedFor answers an invocation later than a call of DynamoDB may take.
func TestASlowInvocationIsWaitedFor(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	invokePrompt(t, promptTime, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if err := delay.Sleep(r.Context(), 5*time.Second); err == nil {
			_, _ = io.WriteString(w, `{"promptId":"p"}`)
		}
	})
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}

// invokePrompt invokes a function that answers so in the end, within a time.
func invokePrompt(t *testing.T, limit time.Duration, answer http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			answer(w, r)
		}
	}))
	t.Cleanup(server.Close)
	client := lambdaclient.New(config.Config{
		Region: "us-east-1", AccessKeyID: "local", SecretAccessKey: "local", LambdaEndpoint: server.URL,
	})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	name := "prompt"
	out, err := client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &name, Payload: []byte(`{}`)})
	if err != nil || string(out.Payload) != `{"promptId":"p"}` {
		t.Errorf("got %+v, %v", out, err)
	}
}

// promptTime is how long a prompt may take, in which there is time for two invocations.
const promptTime = 20 * time.Second
