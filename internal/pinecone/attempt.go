package pinecone

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
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
	// minSilence is the shortest attempt after which a silent connection counts as dead.
	minSilence = 200 * time.Millisecond
	// maxIdle is how long a connection is kept without a call, by the wall clock, which goes on while Lambda has the
	// function frozen. Networks forget connections that are idle for longer, some after 350 seconds.
	maxIdle = 90 * time.Second
)

// intercept makes a call up to three times within its deadline. gRPC's own retry policy has no limit of time for one
// attempt, so that an attempt that hangs, such as one on a connection that died while Lambda had the function frozen,
// would use up the whole deadline.
func (d *dialer) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	d.closeSilent(time.Now().Add(-maxIdle))
	longest := firstBackoff
	for left := maxAttempts - 1; ; left-- {
		err := d.attempt(ctx, left, func(ctx context.Context) error {
			return invoke(ctx, method, req, reply, conn, options...)
		})
		metric.Call(ctx, metric.Vector, kindOf(ctx, err))
		if err == nil {
			return nil
		}
		if isQuota(status.Convert(err)) {
			metric.Add(ctx, "VectorQuotaRefusals", 1, metric.Count)
			return err
		}
		if left == 0 || ctx.Err() != nil || !isPassing(err) || delay.Sleep(ctx, rand.N(longest)) != nil {
			return err
		}
		longest *= backoffFactor
	}
}

// attempt makes a call once. An attempt that others may follow has half of the time that is left. When it gets no
// answer in its time, the connections that were silent meanwhile are closed, so that the next attempt makes a new one.
func (d *dialer) attempt(ctx context.Context, left int, call func(context.Context) error) error {
	limit := maxAttemptTime
	if deadline, ok := ctx.Deadline(); ok && left > 0 {
		limit = min(limit, time.Until(deadline)/2)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	started := time.Now()
	err := call(limited)
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) && time.Since(started) >= minSilence {
		d.closeSilent(started)
	}
	return err
}

// kindOf returns the kind of a failure for the metrics, empty for an answer. That something is not there is an answer,
// too. A caller that has no time left is not the service's failure.
func kindOf(ctx context.Context, err error) metric.Failure {
	s := status.Convert(err)
	switch {
	case s.Code() == codes.OK || s.Code() == codes.NotFound:
		return ""
	case isQuota(s):
		return metric.Quota
	case s.Code() == codes.ResourceExhausted:
		return metric.Limit
	case s.Code() == codes.Unauthenticated || s.Code() == codes.PermissionDenied:
		return metric.Key
	case s.Code() == codes.InvalidArgument || s.Code() == codes.FailedPrecondition:
		return metric.Refused
	case ctx.Err() != nil:
		return metric.Late
	case s.Code() == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded):
		return metric.Slow
	}
	return metric.Down
}

// isPassing reports whether a repeated call may succeed: the service was not reached, is throttling, or took too long.
func isPassing(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded:
		return true
	}
	return false
}
