package trial

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

// Latencies are how long each service takes to answer.
type Latencies struct {
	DynamoDB  time.Duration `json:"dynamodb"`
	Embedding time.Duration `json:"embedding"`
	Pinecone  time.Duration `json:"pinecone"`
}

// Real are the latencies of the measurement of wall time (issue: prompt assembly).
var Real = Latencies{DynamoDB: 5 * time.Millisecond, Embedding: 60 * time.Millisecond, Pinecone: 30 * time.Millisecond}

// remote stands between the code and its services. It records DynamoDB's answers once and gives them again, each after
// its latency, so that what is measured is neither an engine's time nor a network's; and it notes when each call began
// and ended, so that the slowest chain of calls is known.
type remote struct {
	dynamo.API
	mu      sync.Mutex
	answers map[string]any
	replay  bool
	latency Latencies
	calls   []span
	vectors []string
}

// span is one remote call.
type span struct {
	begin, end time.Time
	latency    time.Duration
}

func (r *remote) wait(latency time.Duration) {
	began := time.Now()
	if latency > 0 {
		time.Sleep(latency)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, span{began, time.Now(), latency})
}

// answer gives a recorded answer, or asks and records.
func answer[T any](r *remote, key string, ask func() (T, error)) (T, error) {
	r.mu.Lock()
	known, ok := r.answers[key].(T)
	replay, latency := r.replay, r.latency.DynamoDB
	r.mu.Unlock()
	if replay && ok {
		r.wait(latency)
		return known, nil
	}
	if replay {
		return known, fmt.Errorf("no answer was recorded for %s", key)
	}
	out, err := ask()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[key] = out
	return out, err
}

// Query asks for a range of records.
func (r *remote) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return answer(r, queryKey(in), func() (*dynamodb.QueryOutput, error) { return r.API.Query(ctx, in, o...) })
}

// BatchGetItem asks for records.
func (r *remote) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return answer(r, batchKey(in), func() (*dynamodb.BatchGetItemOutput, error) { return r.API.BatchGetItem(ctx, in, o...) })
}

// embedder answers with a vector of the usual width.
type embedder struct{ *remote }

func (e embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	e.wait(e.latency.Embedding)
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = make([]float32, 1536)
		out[i][0] = 1
	}
	return out, nil
}

// index answers with messages all over the history.
type index struct {
	recall.Index
	*remote
}

func (x index) Query(_ context.Context, _ conversation.UserID, _ int64, q vector.Query) ([]vector.Match, error) {
	x.wait(x.latency.Pinecone)
	var matches []vector.Match
	for i, id := range x.vectors[:min(q.TopK, len(x.vectors))] {
		matches = append(matches, vector.Match{ID: id, Score: 1 / float64(i+2)})
	}
	return matches, nil
}

// take returns the calls since the last time.
func (r *remote) take() []span {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// critical is the slowest chain of calls, by their nominal latencies: a call follows on another when it began after
// that one ended.
func critical(calls []span) time.Duration {
	longest := make([]time.Duration, len(calls))
	most := time.Duration(0)
	for range calls { // calls are in the order of their ends, so one pass in that order is enough for each link
		for i, c := range calls {
			longest[i] = max(longest[i], c.latency)
			for j, before := range calls {
				if !before.end.After(c.begin) {
					longest[i] = max(longest[i], longest[j]+c.latency)
				}
			}
			most = max(most, longest[i])
		}
	}
	return most
}
