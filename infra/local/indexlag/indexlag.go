// Package indexlag makes the indexes of DynamoDB Local lag. In DynamoDB an index follows a write a little later; in
// DynamoDB Local it does so at once.
//
// While a lag is set, a copy of the table follows the table's stream with that delay, and queries of an index are sent
// to the copy. The engine itself therefore evaluates key conditions, filters and pages, on the items as they were then:
// without later writes, and with the items that have been deleted since. Reads of the table itself are not changed.
package indexlag

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// maxBody is a limit in bytes that no query's request reaches.
const maxBody = 4 << 20

// Options name the table whose indexes lag.
type Options struct {
	Client    *dynamodb.Client
	Streams   *dynamodbstreams.Client
	Table     string
	StreamARN string
	Logger    *slog.Logger
}

// Lag makes the indexes of one table lag while it is set. It may be used concurrently.
type Lag struct {
	opts Options
	lag  atomic.Int64 // nanoseconds

	setMu    sync.Mutex // held by Set
	follower *follower  // nil while no lag is set

	// routeMu is read-locked by queries of the copy, so that the copy is deleted after they end.
	routeMu sync.RWMutex
	toCopy  bool
}

// New returns a Lag that is not set.
func New(opts Options) *Lag { return &Lag{opts: opts} }

// Duration returns the lag, or 0 when none is set.
func (l *Lag) Duration() time.Duration { return time.Duration(l.lag.Load()) }

// Set makes the indexes lag by d from now on. The first lag copies the whole table. When Set returns, the copy is in
// use. 0 ends the lag, stops following the table, and deletes the copy.
func (l *Lag) Set(ctx context.Context, d time.Duration) error {
	l.setMu.Lock()
	defer l.setMu.Unlock()
	if d <= 0 {
		return l.end(ctx)
	}
	l.lag.Store(int64(d))
	if l.follower != nil {
		return nil
	}
	var err error
	if l.follower, err = l.begin(ctx); err != nil {
		l.lag.Store(0)
		return err
	}
	l.route(true)
	return nil
}

func (l *Lag) end(ctx context.Context) error {
	l.lag.Store(0)
	if l.follower == nil {
		return nil
	}
	l.route(false)
	err := errors.Join(l.follower.stop(), l.dropCopy(ctx))
	l.follower = nil
	return err
}

// route waits for the queries of the copy to end, and sets where the next ones go.
func (l *Lag) route(toCopy bool) {
	l.routeMu.Lock()
	defer l.routeMu.Unlock()
	l.toCopy = toCopy
}

// Handler passes requests on to the engine. It sends queries of the table's indexes to the copy.
func (l *Lag) Handler(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.lag.Load() == 0 || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
			engine.ServeHTTP(w, r)
			return
		}
		l.routeMu.RLock()
		defer l.routeMu.RUnlock()
		if l.toCopy && l.redirect(r) != nil {
			panic(http.ErrAbortHandler) // the client went away
		}
		engine.ServeHTTP(w, r)
	})
}

// redirect replaces the table's name by the copy's when a query is of an index of the table.
func (l *Lag) redirect(r *http.Request) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	var request map[string]any
	if json.Unmarshal(body, &request) == nil && request["IndexName"] != nil && request["TableName"] == l.opts.Table {
		request["TableName"] = l.copyName()
		body, _ = json.Marshal(request) // it was decoded just now
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

func (l *Lag) copyName() string { return l.opts.Table + ".index-lag" }
