// Package indexlag makes DynamoDB Local's indexes lag, which it cannot do itself: in the service an index follows a
// write later, in DynamoDB Local at once (design 3).
//
// A copy of the table follows the table's stream at a distance, and reads of an index are sent to the copy. So the
// engine itself evaluates every key condition, filter and page, on the items as they were a lag ago: what was
// written since is not there yet, and what was deleted since still is. Reads of the table itself are not touched.
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

// maxBody is more than any read's request has, in bytes.
const maxBody = 4 << 20

// Options name the table whose indexes lag.
type Options struct {
	Client    *dynamodb.Client
	Streams   *dynamodbstreams.Client
	Table     string
	StreamARN string
	Logger    *slog.Logger
}

// Lag makes one table's indexes lag while it is set. It may be used concurrently.
type Lag struct {
	opts Options
	lag  atomic.Int64 // nanoseconds

	setting sync.Mutex // one change at a time
	follow  *follower  // nil while nothing lags

	// routing is held by reads that go to the copy, so that the copy goes only after them.
	routing sync.RWMutex
	copied  bool
}

// New returns a Lag that is not set.
func New(opts Options) *Lag { return &Lag{opts: opts} }

// Duration is how far the indexes are behind.
func (l *Lag) Duration() time.Duration { return time.Duration(l.lag.Load()) }

// Set makes the indexes lag by d from now on; 0 ends it. The first lag copies the table, which takes as long as
// reading it does; when Set returns, the copy is in use.
func (l *Lag) Set(ctx context.Context, d time.Duration) error {
	l.setting.Lock()
	defer l.setting.Unlock()
	if d <= 0 {
		return l.end(ctx)
	}
	l.lag.Store(int64(d))
	if l.follow != nil {
		l.follow.wake()
		return nil
	}
	follow, err := l.begin(ctx)
	if err != nil {
		l.lag.Store(0)
		return err
	}
	l.follow = follow
	l.route(true)
	return nil
}

// Close ends the lag, and waits for everything that it had under way.
func (l *Lag) Close(ctx context.Context) error { return l.Set(ctx, 0) }

func (l *Lag) end(ctx context.Context) error {
	l.lag.Store(0)
	if l.follow == nil {
		return nil
	}
	l.route(false)
	err := errors.Join(l.follow.stop(), l.dropCopy(ctx))
	l.follow = nil
	return err
}

// route waits for the reads under way and switches where the next ones go.
func (l *Lag) route(copied bool) {
	l.routing.Lock()
	defer l.routing.Unlock()
	l.copied = copied
}

// Handler stands before the engine and sends reads of the table's indexes to the copy.
func (l *Lag) Handler(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.lag.Load() == 0 || !isRead(r.Header.Get("X-Amz-Target")) {
			engine.ServeHTTP(w, r)
			return
		}
		l.routing.RLock()
		defer l.routing.RUnlock()
		if l.copied && l.redirect(r) != nil {
			panic(http.ErrAbortHandler) // the request broke off
		}
		engine.ServeHTTP(w, r)
	})
}

func isRead(target string) bool {
	return strings.HasSuffix(target, ".Query") || strings.HasSuffix(target, ".Scan")
}

// redirect names the copy in a read of one of the table's indexes.
func (l *Lag) redirect(r *http.Request) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	var request map[string]json.RawMessage
	var table, index string
	if json.Unmarshal(body, &request) == nil {
		_ = json.Unmarshal(request["TableName"], &table)
		_ = json.Unmarshal(request["IndexName"], &index)
	}
	if index != "" && table == l.opts.Table {
		request["TableName"] = json.RawMessage(strconv.Quote(l.copyName()))
		if body, err = json.Marshal(request); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

func (l *Lag) copyName() string { return l.opts.Table + ".index-lag" }
