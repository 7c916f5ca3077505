package openai

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/metric"
)

const (
	maxAttempts  = 3
	firstBackoff = 200 * time.Millisecond
	// maxWait is the longest wait between two attempts. When the service asks for more, the call fails, and the caller
	// gets the service's advice.
	maxWait = 5 * time.Second
)

// retry repeats calls of a service, and counts each call once.
type retry struct {
	service metric.Vendor
	sleep   func(ctx context.Context, d time.Duration) error
	jitter  func() float64
}

// of returns the retry of a service.
func (r retry) of(service metric.Vendor) retry {
	r.service = service
	return r
}

// do makes up to maxAttempts calls, each within the limit. It returns an error at once when another attempt can't
// succeed, or when the wait for it is longer than maxWait or than the time until the deadline.
func (r retry) do(
	ctx context.Context, op string, limit time.Duration, call func(ctx context.Context) error,
) error {
	within := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, errTooSlow)
		defer cancel()
		return reason(ctx, call(ctx))
	}
	return r.attempts(ctx, op, within)
}

// attempts is do for calls that have limits of their own.
func (r retry) attempts(ctx context.Context, op string, call func(ctx context.Context) error) error {
	for attempt := 1; ; attempt++ {
		given := &advice{}
		err := call(context.WithValue(ctx, adviceKey{}, given))
		if err == nil {
			metric.Call(ctx, r.service, "")
			return nil
		}
		failed := failure(op, err, *given)
		wait := r.wait(attempt, failed)
		if attempt == maxAttempts || !retryable(failed) || !waitFits(ctx, wait) || r.sleep(ctx, wait) != nil {
			metric.Call(ctx, r.service, kindOf(ctx, failed))
			return failed
		}
	}
}

// slowError is the error of an attempt that took too long. Another attempt may be faster.
type slowError struct{}

func (slowError) Error() string { return "model service did not answer in time" }

// Timeout implements net.Error's method.
func (slowError) Timeout() bool { return true }

var errTooSlow error = slowError{}

// reason returns the error of a call. A call that its attempt's limit has ended says so.
func reason(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errTooSlow) {
		return errTooSlow
	}
	return err
}

// wait returns the delay that the service asked for, if it did, and otherwise an exponential backoff with jitter over
// its second half.
func (r retry) wait(attempt int, failed *fault.Error) time.Duration {
	if failed.RetryAfter > 0 {
		return failed.RetryAfter
	}
	backoff := firstBackoff << (attempt - 1)
	return backoff/2 + time.Duration(r.jitter()*float64(backoff/2))
}

func waitFits(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return wait <= maxWait && (!ok || time.Until(deadline) > wait)
}

// advice holds how long the service asks to wait before the next attempt, and whether it is on this machine. The
// library drops the headers of an error response, so adviceTransport reads them.
type advice struct {
	after   time.Duration
	isLocal bool
}

type adviceKey struct{}

// adviceTransport stores the Retry-After of an error response in the advice of the request's context.
type adviceTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t adviceTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	given, ok := r.Context().Value(adviceKey{}).(*advice)
	if err != nil || !ok {
		return response, err
	}
	host := r.URL.Hostname()
	given.isLocal = host == "localhost" || net.ParseIP(host).IsLoopback()
	if response.StatusCode >= http.StatusBadRequest {
		given.after = retryAfter(response.Header, time.Now())
	}
	return response, nil
}

// retryAfter reads OpenAI's own header, which is in milliseconds, and Retry-After, which is in seconds or a date. It
// returns 0 when neither has a positive value.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
