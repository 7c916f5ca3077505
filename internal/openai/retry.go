package openai

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/throughline/throughline/internal/fault"
)

// A call is tried at most three times, and waits at most five seconds for another try: longer advice is passed on to
// the caller.
const (
	maxAttempts = 3
	firstWait   = 200 * time.Millisecond
	maxWait     = 5 * time.Second
)

type retry struct {
	sleep  func(ctx context.Context, d time.Duration) error
	jitter func() float64
}

// do calls until it succeeds, the error is not worth another try, or the time that is left is too short for one.
func (r retry) do(ctx context.Context, op string, call func(ctx context.Context) error) error {
	for attempt := 1; ; attempt++ {
		seen := &advice{}
		err := call(context.WithValue(ctx, adviceKey{}, seen))
		if err == nil {
			return nil
		}
		failed := failure(op, err, *seen)
		wait := r.wait(attempt, failed)
		if attempt == maxAttempts || !retryable(failed) || !fits(ctx, wait) {
			return failed
		}
		if r.sleep(ctx, wait) != nil {
			return failed
		}
	}
}

// wait is the service's advice where it gave one, else an exponential back-off with full jitter.
func (r retry) wait(attempt int, failed *fault.Error) time.Duration {
	if failed.RetryAfter > 0 {
		return failed.RetryAfter
	}
	backoff := firstWait << (attempt - 1)
	return backoff/2 + time.Duration(r.jitter()*float64(backoff/2))
}

func fits(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return wait <= maxWait && (!ok || time.Until(deadline) > wait)
}

// advice is when the service said that the call may be tried again; the library drops the headers of an error.
type advice struct{ after time.Duration }

type adviceKey struct{}

// adviceTransport stores the Retry-After of an error in the advice of the request's context.
type adviceTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t adviceTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	if seen, ok := r.Context().Value(adviceKey{}).(*advice); ok {
		seen.after = retryAfter(response.Header, time.Now())
	}
	return response, nil
}

// retryAfter reads the header in its two forms, seconds and a date, and OpenAI's own in milliseconds.
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
