package dynamodbtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/local/dynamodblocal"
)

// BubbleClient is Client for a test in a bubble of testing/synctest. The time of the bubble stands still during a call.
// A call does not end with its context.
func BubbleClient(t testing.TB) *dynamodb.Client {
	t.Helper()
	return dynamodblocal.Client(Endpoint(t), func(o *dynamodb.Options) { o.HTTPClient = bubbleHTTP{} })
}

// bubbleHTTP sends requests outside of the bubble: the goroutines of a connection wait for its other end, and a bubble
// whose goroutines wait for anything outside has no time.
type bubbleHTTP struct{}

var connections = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 50}}

func (bubbleHTTP) Do(r *http.Request) (out *http.Response, err error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	r = r.WithContext(context.WithoutCancel(r.Context())) // the channel of its end is the bubble's
	outside(func() { out, err = exchange(r) })            //nolint:bodyclose // exchange closes it
	return out, err
}

// exchange sends a request and reads the whole answer.
func exchange(r *http.Request) (*http.Response, error) {
	out, err := connections.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, err
	}
	if err := out.Body.Close(); err != nil {
		return nil, err
	}
	out.Body = io.NopCloser(bytes.NewReader(body))
	return out, nil
}

// calls are functions to be called outside of every bubble. Main calls them.
var calls = make(chan func())

// outside calls a function outside of the bubble that it is called in. It waits with a mutex, which a goroutine outside
// may unlock, unlike a channel of the bubble.
func outside(call func()) {
	if !managed.Load() {
		call()
		return
	}
	var done sync.Mutex
	done.Lock()
	calls <- func() {
		defer done.Unlock()
		call()
	}
	done.Lock()
}
