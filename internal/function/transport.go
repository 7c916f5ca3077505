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

const (
	// maxAttemptTime is the longest attempt of a request whose deadline is far. DynamoDB answers within milliseconds.
	maxAttemptTime = 4 * time.Second
	// minAttemptTime is the shortest attempt, unless the request's own time is shorter.
	minAttemptTime = 250 * time.Millisecond
)

// attempts makes each request end in time for another: within half of the time that the operation has left. The SDK
// repeats it then. An attempt on a connection that is dead, as those of a function that was frozen may be, ends so.
type attempts struct {
	transport.HTTP
	longest time.Duration
}

// InAttempts returns a client whose attempts take that long at most. Each makes a span where spans are configured.
func InAttempts(cfg config.Tracing, longest time.Duration) *http.Client {
	client := &http.Client{Transport: attempts{transport.NewHTTP(time.Second), longest}}
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
	answer, err := a.HTTP.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	answer.Body = &attemptBody{ReadCloser: answer.Body, cancel: cancel, failed: func() { a.Failed(r.Context()) }}
	return answer, nil
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
