package pinecone

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/metric"
)

const (
	// maxAttempts is how often a call is tried. Every call of this package can be repeated, because ids are deterministic.
	maxAttempts = 3
	// maxAttemptTime is the longest attempt of a call whose deadline is far.
	maxAttemptTime = 10 * time.Second
	// firstBackoff is the longest wait before the second attempt. The wait before the third is at most backoffFactor times
	// that.
	firstBackoff  = 50 * time.Millisecond
	backoffFactor = 3
	// minTime is the least time after which a call without an answer is the service's failure. A caller may have less.
	minTime = 500 * time.Millisecond
)

// intercept makes a call up to three times within its deadline, and counts it once. An attempt has all of the time that
// is left, up to maxAttemptTime: the index may load a user's namespace from slow storage first, and an attempt that is
// given up and sent again pays twice and begins anew. A dead connection ends by itself (package transport), and the
// next attempt makes a new one.
func (d *dialer) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	d.closeIdle()
	started := time.Now()
	err := attempts(ctx, func(ctx context.Context) error {
		return invoke(ctx, method, req, reply, conn, options...)
	})
	metric.Call(ctx, metric.Vector, kindOf(ctx, err, time.Since(started)))
	if isQuota(status.Convert(err)) {
		metric.Add(ctx, "VectorQuotaRefusals", 1, metric.Count)
	}
	return err
}

// attempts makes a call until it succeeds, its failure is no passing one, or there is no time or attempt left.
func attempts(ctx context.Context, call func(context.Context) error) error {
	longest := firstBackoff
	for left := maxAttempts - 1; ; left-- {
		limited, cancel := context.WithTimeout(ctx, maxAttemptTime)
		err := call(limited)
		cancel()
		isOver := err == nil || left == 0 || ctx.Err() != nil || !classOf(status.Convert(err)).passing
		if isOver || delay.Sleep(ctx, rand.N(longest)) != nil {
			return err
		}
		longest *= backoffFactor
	}
}

// kindOf returns the kind of a failure for the metrics, empty for an answer. A caller who goes, or had less than
// minTime, is not the service's failure.
func kindOf(ctx context.Context, err error, took time.Duration) metric.Failure {
	kind := classOf(status.Convert(err)).kind
	if kind != metric.Down && kind != metric.Slow {
		return kind
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled) || (ctx.Err() != nil && took < minTime):
		return metric.Late
	case errors.Is(err, context.DeadlineExceeded):
		return metric.Slow
	}
	return kind
}
