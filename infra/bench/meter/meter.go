// Package meter counts what operations use of DynamoDB: calls, capacity units and time. A Meter is a client that
// counts, a Proxy an engine.
package meter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// Meter is a client that counts. One operation may call it concurrently if it reads only; it measures one operation at
// a time.
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
	m.usage = Usage{}
	start := time.Now()
	err := operation(ctx)
	m.usage.Wall += time.Since(start)
	return m.usage, errors.Join(err, m.err)
}

// Do makes a request of the client and counts it.
func (m *Meter) Do(r *http.Request) (response *http.Response, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	units, own, uncounted := m.count(r.Context(), operationOf(r), body, func(body []byte) (answer []byte) {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if response, err = m.next.Do(r); err != nil { //nolint:bodyclose // it is closed below
			return nil
		}
		answer, err = io.ReadAll(response.Body)
		err = errors.Join(err, response.Body.Close())
		response.Body = io.NopCloser(bytes.NewReader(answer))
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
