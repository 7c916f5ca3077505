package recall_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/pineconetest"
)

// slowIndex returns what searches a user's messages on an index that answers each query so late, with the time that
// production gives it, and the number of queries that the index has got.
func slowIndex(t testing.TB, latency time.Duration) (search func() (degraded bool), queries *atomic.Int32) {
	t.Helper()
	s, queries := newFixture(t), &atomic.Int32{}
	s.index.Index = pineconetest.Client(t, dimensions, func(
		ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
	) (any, error) {
		if strings.HasSuffix(info.FullMethod, "/Query") {
			queries.Add(1)
			if err := delay.Sleep(ctx, latency); err != nil {
				return nil, err
			}
		}
		return next(ctx, request)
	})
	s.addIndexed("ann", "coach_conversation", "s1", time.Hour, "My left knee hurts after squats.", "Rest it.")
	service := recall.New(s.store.Recall, s.embed, s.index, recall.Options{})
	return func() bool {
		found := check.Got(service.Search(t.Context(), "ann", recall.Search{Text: "What hurts?", Limit: 8, Ranked: true}))(t)
		return len(found.Degraded) > 0
	}, queries
}

// TestAColdNamespaceIsSearched has an index that takes 0.6 s, as one may that loads a namespace from slow storage.
func TestAColdNamespaceIsSearched(t *testing.T) {
	t.Parallel()
	search, queries := slowIndex(t, 600*time.Millisecond)
	if search() || queries.Load() != 1 {
		t.Errorf("an index of 0.6 s: the search is degraded, or it took more than a query: %d", queries.Load())
	}
}

// BenchmarkSlowIndex prints how many of a user's prompts lack what the index has, and how many queries each sends, by
// how long the index takes:
//
//	go test ./internal/recall -run '^$' -bench SlowIndex -benchtime 20x
func BenchmarkSlowIndex(b *testing.B) {
	for _, latency := range []time.Duration{300, 600, 900, 1200} {
		b.Run((latency * time.Millisecond).String(), func(b *testing.B) {
			search, queries := slowIndex(b, latency*time.Millisecond)
			degraded := 0
			b.ResetTimer()
			for b.Loop() {
				if search() {
					degraded++
				}
			}
			b.ReportMetric(100*float64(degraded)/float64(b.N), "degraded-%")
			b.ReportMetric(float64(queries.Load())/float64(b.N), "queries/prompt")
		})
	}
}
