package promptbench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

// Latencies are how long each service takes to answer.
type Latencies struct {
	DynamoDB  time.Duration `json:"dynamodbNs"`
	Embedding time.Duration `json:"embeddingNs"`
	Pinecone  time.Duration `json:"pineconeNs"`
}

// Real are the latencies of the measurement of wall time (issue: prompt assembly).
var Real = Latencies{DynamoDB: 5 * time.Millisecond, Embedding: 60 * time.Millisecond, Pinecone: 30 * time.Millisecond}

// line is the way to one service. It holds each answer back until the service's latency has passed since the request,
// so that what the local engine takes counts only where it is slower than that, and notes every call.
type line struct {
	*journal
	latency time.Duration
	// idle, while it is true, holds nothing back.
	idle *atomic.Bool
	// by and to are the line's ends, where there are several lines.
	by, to string
}

func (l line) hold(began time.Time, what string) {
	l.wait(began)
	l.add(remote{l.by, l.to, what}, began)
}

func (l line) wait(began time.Time) {
	if !l.idle.Load() {
		time.Sleep(time.Until(began.Add(l.latency)))
	}
}

// transport is a line over HTTP. An answer is whole before it is handed on: what is left to do with it is no longer
// the service's time. A stream of events is handed on as it comes, and ends the call when it has come to its end.
type transport struct {
	line
	next http.RoundTripper
}

// RoundTrip asks, waits and notes.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		t.wait(began)
		end := sync.OnceFunc(func() { t.add(remote{t.by, t.to, operation(r)}, began) })
		response.Body = &eventStream{response.Body, end}
		return response, nil
	}
	whole := bytes.NewBuffer(make([]byte, 0, max(response.ContentLength, bytes.MinRead)+bytes.MinRead))
	_, err = whole.ReadFrom(response.Body)
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	response.Body = io.NopCloser(whole)
	t.hold(began, operation(r))
	return response, nil
}

// operation is what a request asks of its service: DynamoDB says it in a header, the others in the path's end.
func operation(r *http.Request) string {
	if _, target, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		return target
	}
	return path.Base(r.URL.Path)
}

// eventStream tells when it ends.
type eventStream struct {
	io.ReadCloser
	end func()
}

// Read notes the end that it finds.
func (s *eventStream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil {
		s.end()
	}
	return n, err
}

// Close ends a stream that was not read to its end.
func (s *eventStream) Close() error {
	s.end()
	return s.ReadCloser.Close()
}

// index is a line to the vector index. gRPC's own work counts as the service's.
type index struct {
	recall.Index
	line
}

// Query asks, waits and notes.
func (x index) Query(ctx context.Context, user conversation.UserID, generation int64, q vector.Query) ([]vector.Match, error) {
	began := time.Now()
	matches, err := x.Index.Query(ctx, user, generation, q)
	x.hold(began, "Query")
	return matches, err
}
