package trial

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
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
}

func (l line) hold(began time.Time) {
	if !l.idle.Load() {
		time.Sleep(time.Until(began.Add(l.latency)))
	}
	l.add(began)
}

// transport is a line over HTTP. An answer is whole before it is handed on: what is left to do with it is no longer
// the service's time.
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
	whole := bytes.NewBuffer(make([]byte, 0, max(response.ContentLength, bytes.MinRead)+bytes.MinRead))
	_, err = whole.ReadFrom(response.Body)
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	response.Body = io.NopCloser(whole)
	t.hold(began)
	return response, nil
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
	x.hold(began)
	return matches, err
}
