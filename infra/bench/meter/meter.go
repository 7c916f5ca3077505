// Package meter counts what operations use of DynamoDB: calls, capacity units and time.
package meter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/bench/capacity"
)

// Usage is what one operation took.
type Usage struct {
	Calls int
	Units capacity.Units
	// Wall is the operation's own time, without the reads of the meter itself.
	Wall time.Duration
}

// Meter is a client that counts, and the transport of a proxy for programs that make their own clients. Concurrent
// calls may not write the same records. It measures one operation at a time.
type Meter struct {
	*dynamodb.Client
	counter
	next dynamodb.HTTPClient

	mu    sync.Mutex
	usage Usage
	err   error // of the first call that could not be charged
}

// New returns a meter that calls as a client does, of a table of the engine.
func New(client *dynamodb.Client, in *dynamodb.CreateTableInput) *Meter {
	options := client.Options()
	m := &Meter{counter: counter{capacity.TableOf(in), client}, next: options.HTTPClient}
	options.HTTPClient = m
	m.Client = dynamodb.New(options)
	return m
}

// Measure runs an operation and returns what it took. Its error is the operation's, or that of a call which the meter
// could not charge. After such a call every later measurement fails too.
func (m *Meter) Measure(ctx context.Context, operation func(context.Context) error) (Usage, error) {
	_, _ = m.Take() // its error is that of the next one, too
	start := time.Now()
	err := operation(ctx)
	took := time.Since(start)
	usage, uncounted := m.Take()
	usage.Wall += took
	return usage, errors.Join(err, uncounted)
}

// Take returns the calls and units since it was called before, and the error of a call that could not be charged.
func (m *Meter) Take() (Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	usage := m.usage
	m.usage = Usage{}
	return usage, m.err
}

// RoundTrip makes a request of a proxy and counts it.
func (m *Meter) RoundTrip(r *http.Request) (*http.Response, error) {
	r.RequestURI = "" // a client's request has none
	return m.Do(r)
}

// Whole reads an answer to its end, and gives it a body that can be read again.
func Whole(response *http.Response) ([]byte, error) {
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// Do makes a request of the client and counts it.
func (m *Meter) Do(r *http.Request) (response *http.Response, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	units, own, uncounted := m.count(r.Context(), operation, body, func(body []byte) (answer []byte) {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if response, err = m.next.Do(r); err != nil { //nolint:bodyclose // it is closed below
			return nil
		}
		answer, err = Whole(response)
		return answer
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Calls++
	m.usage.Units = m.usage.Units.Add(units)
	m.usage.Wall -= own
	if m.err == nil {
		m.err = uncounted
	}
	return response, err
}
