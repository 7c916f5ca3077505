package pinecone_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/pineconetest"
)

// budget is what a prompt gives a query.
const budget = time.Second

// TestASlowAnswerIsAskedForOnce has an index that answers late, as one that loads a user's namespace does.
func TestASlowAnswerIsAskedForOnce(t *testing.T) {
	t.Parallel()
	var queries atomic.Int32
	c := pineconetest.Client(t, 2, func(
		ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
	) (any, error) {
		if strings.HasSuffix(info.FullMethod, "/Query") {
			queries.Add(1)
			if err := delay.Sleep(ctx, budget*8/10); err != nil {
				return nil, err
			}
		}
		return next(ctx, r)
	})
	upsert(t, c, "anna", 0, record("m1", 1, 0))
	var lines strings.Builder
	ctx, end := metric.NewRecorder(&lines, "stack", "prompt", time.Now).Begin(t.Context(), "request")
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	if got, err := c.Query(ctx, "anna", 0, east); err != nil || len(got) != 1 {
		t.Errorf("a slow index: %v, %v", got, err)
	}
	check.Equal(t, 1, queries.Load(), "queries, want 1")
	counts := func(count string) bool { return strings.Contains(lines.String(), count) }
	if end(); !counts(`"VectorCalls":1`) || !counts(`"VectorFailures":0`) {
		t.Errorf("the call does not count as one that succeeded: %s", lines.String())
	}
}

// TestACallCountsOnce has an index that is not reached at first, one that never is, and one that never answers.
func TestACallCountsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fail   func(ctx context.Context, attempt int32) error
		counts []string
	}{
		{
			"not reached at first",
			func(_ context.Context, attempt int32) error {
				if attempt == 1 {
					return status.Error(codes.Unavailable, "no")
				}
				return nil
			},
			[]string{`"VectorCalls":1`, `"VectorFailures":0`},
		},
		{
			"never reached",
			func(context.Context, int32) error { return status.Error(codes.Unavailable, "no") },
			[]string{`"VectorCalls":1`, `"VectorFailures":1`, `"VectorFailures.down":1`},
		},
		{
			"never answered",
			func(ctx context.Context, _ int32) error { <-ctx.Done(); return ctx.Err() },
			[]string{`"VectorCalls":1`, `"VectorFailures":1`, `"VectorFailures.slow":1`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var attempts atomic.Int32
			index := pineconetest.Client(t, 2, func(
				ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler,
			) (any, error) {
				if err := c.fail(ctx, attempts.Add(1)); err != nil {
					return nil, err
				}
				return next(ctx, r)
			})
			var lines strings.Builder
			ctx, end := metric.NewRecorder(&lines, "stack", "prompt", time.Now).Begin(t.Context(), "request")
			ctx, cancel := context.WithTimeout(ctx, budget)
			defer cancel()
			_, _ = index.Query(ctx, "anna", 0, east)
			end()
			for _, count := range c.counts {
				if !strings.Contains(lines.String(), count) {
					t.Errorf("no %s in %s", count, lines.String())
				}
			}
		})
	}
}
