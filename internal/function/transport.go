package function

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/trace"
	"github.com/throughline/throughline/internal/transport"
)

// newTransport keeps enough idle connections for the parallel reads of one prompt. It closes those that have been idle
// for longer than IdleConnTimeout, by the wall clock, also when the function was frozen meanwhile.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:         transport.Dial(time.Second),
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     transport.MaxIdle,
		TLSHandshakeTimeout: 2 * time.Second,
	}
}

const (
	// maxAttemptTime is the longest attempt of a request whose deadline is far. DynamoDB answers within milliseconds.
	maxAttemptTime = 4 * time.Second
	// minAttemptTime is the shortest attempt, unless the request's own time is shorter.
	minAttemptTime = 250 * time.Millisecond
)

// attempts makes each request end in time for another: within half of the time that the operation has left. The SDK
// repeats it then. An attempt on a connection that is dead, as those of a function that was frozen may be, ends so.
// The other idle connections are probably dead, too, and are closed with it, so that dead connections cost one attempt.
type attempts struct {
	*http.Transport
	longest time.Duration
}

// InAttempts returns a client whose attempts take that long at most. Each makes a span where spans are configured.
func InAttempts(cfg config.Tracing, longest time.Duration) *http.Client {
	client := &http.Client{Transport: attempts{newTransport(), longest}}
	if cfg.Endpoint != "" {
		client.Transport = trace.Transport(client.Transport)
	}
	return client
}

// RoundTrip implements http.RoundTripper.
func (a attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := a.longest
	if deadline, ok := r.Context().Deadline(); ok {
		limit = min(limit, max(time.Until(deadline)/2, minAttemptTime))
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	answer, err := a.Transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		a.failed(r.Context())
		return nil, err
	}
	answer.Body = &attemptBody{ReadCloser: answer.Body, cancel: cancel, failed: func() { a.failed(r.Context()) }}
	return answer, nil
}

// failed closes the idle connections, unless the attempt failed because its caller has gone.
func (a attempts) failed(ctx context.Context) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		a.CloseIdleConnections()
	}
}

// attemptBody is the body of an answer, which belongs to its attempt.
type attemptBody struct {
	io.ReadCloser
	cancel context.CancelFunc
	failed func()
}

// Read implements io.Reader.
func (b *attemptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed()
	}
	return n, err
}

// Close implements io.Closer.
func (b *attemptBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
