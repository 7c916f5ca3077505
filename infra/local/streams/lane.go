package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/infra/local/template"
)

const (
	maxPayload = 6 << 20
	// envelope is the room that {"Records":[...]} and a comma for each record take.
	envelope = 1 << 10
	// maxDoublings keeps the back-off from growing for ever.
	maxDoublings = 6
)

// The conditions under which the service gives records up, as its on-failure destination names them.
const (
	RetriesExhausted = "RetryAttemptsExhausted"
	TooOld           = "RecordAgeExceeded"
)

// DeadLetter is what the on-failure destination would get, and beside it the records themselves.
type DeadLetter struct {
	Function  string `json:"function"`
	Condition string `json:"condition"`
	// Invocations is how often these records were tried; Error is the last answer, empty when they grew too old.
	Invocations int                          `json:"invocations"`
	Error       string                       `json:"error,omitempty"`
	Records     []events.DynamoDBEventRecord `json:"records"`
}

// lane delivers the records of its items one batch at a time.
type lane struct {
	poller *Poller
	queue  chan []record
	held   []record // received from the queue and not yet in a batch
}

func (l *lane) run(ctx context.Context) error {
	for {
		batch, err := l.collect(ctx)
		if err != nil {
			return err
		}
		l.deliver(ctx, batch)
		if l.poller.repeats() {
			_, _ = l.invoke(ctx, batch)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// collect waits for a record and then for more, until the batch is full, its window is over, or, without a window,
// nothing more is there.
func (l *lane) collect(ctx context.Context) ([]record, error) {
	first, err := l.next(ctx)
	if err != nil {
		return nil, err
	}
	window := time.NewTimer(l.poller.opts.Mapping.BatchWindow)
	defer window.Stop()
	batch, size := []record{first}, envelope+len(first.raw)
	for len(batch) < l.poller.opts.Mapping.BatchSize && l.more(ctx, window.C) {
		next := l.held[0]
		if size += len(next.raw) + 1; size > maxPayload {
			break
		}
		batch, l.held = append(batch, next), l.held[1:]
	}
	return batch, nil
}

func (l *lane) next(ctx context.Context) (record, error) {
	if len(l.held) == 0 {
		select {
		case l.held = <-l.queue:
		case <-ctx.Done():
			return record{}, ctx.Err()
		}
	}
	first := l.held[0]
	l.held = l.held[1:]
	return first, nil
}

// more reports whether a record is held, after waiting for one as long as the window allows.
func (l *lane) more(ctx context.Context, window <-chan time.Time) bool {
	if len(l.held) > 0 {
		return true
	}
	if l.poller.opts.Mapping.BatchWindow == 0 {
		select {
		case l.held = <-l.queue:
		default:
		}
		return len(l.held) > 0
	}
	select {
	case l.held = <-l.queue:
	case <-window:
	case <-ctx.Done():
	}
	return len(l.held) > 0
}

// deliver brings a batch to its end: when it returns, each record is handled or set aside, unless ctx is done.
// Progress within the batch, and its halves after a bisection, begin with all their retries anew.
func (l *lane) deliver(ctx context.Context, batch []record) {
	tries := 0
	for len(batch) > 0 && ctx.Err() == nil {
		if batch = l.dropAged(batch); len(batch) == 0 {
			return
		}
		done, err := l.invoke(ctx, batch)
		if ctx.Err() != nil {
			return
		}
		l.finish(done)
		batch = batch[done:]
		switch {
		case len(batch) == 0:
			return
		case done > 0:
			tries = 0
		case l.poller.opts.Mapping.Bisect && len(batch) > 1:
			l.pause(ctx, 0)
			l.deliver(ctx, batch[:len(batch)/2])
			batch, tries = batch[len(batch)/2:], 0
			continue
		default:
			tries++
		}
		if limit := l.poller.opts.Mapping.MaxRetries; limit != template.Unlimited && tries > limit {
			l.giveUp(batch, RetriesExhausted, tries, err)
			return
		}
		l.pause(ctx, tries)
	}
}

// invoke calls the function once and returns how many records, from the first, are done.
func (l *lane) invoke(ctx context.Context, batch []record) (done int, err error) {
	raws := make([]json.RawMessage, len(batch))
	for i, r := range batch {
		raws[i] = r.raw
	}
	payload, err := json.Marshal(map[string][]json.RawMessage{"Records": raws})
	if err != nil {
		return 0, fmt.Errorf("encode batch: %w", err)
	}
	l.poller.invocations.Add(1)
	out, err := l.poller.opts.Invoker.Invoke(ctx, l.poller.opts.Function, payload)
	if err != nil {
		return 0, err
	}
	if !l.poller.opts.Mapping.ReportsItems {
		return len(batch), nil
	}
	return lowestFailure(out, batch)
}

// lowestFailure reads a partial batch response as the service does: nothing reported is success, the lowest reported
// sequence number is where to go on, and a report that cannot be understood fails the whole batch.
func lowestFailure(out []byte, batch []record) (done int, err error) {
	var response struct {
		BatchItemFailures []struct {
			ItemIdentifier *string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if len(out) == 0 {
		return len(batch), nil
	}
	if err := json.Unmarshal(out, &response); err != nil {
		return 0, fmt.Errorf("read batch response: %w", err)
	}
	done = len(batch)
	for _, failure := range response.BatchItemFailures {
		id := failure.ItemIdentifier
		i := slices.IndexFunc(batch, func(r record) bool { return id != nil && r.sequence == *id })
		if i < 0 {
			return 0, errors.New("read batch response: it names no record of the batch")
		}
		done = min(done, i)
	}
	if done < len(batch) {
		err = errors.New("reported as failed")
	}
	return done, err
}

func (l *lane) dropAged(batch []record) []record {
	limit := l.poller.opts.Mapping.MaxAge
	if limit == template.Unlimited {
		return batch
	}
	young := slices.IndexFunc(batch, func(r record) bool {
		return time.Since(r.event.Change.ApproximateCreationDateTime.Time) <= limit
	})
	if young < 0 {
		young = len(batch)
	}
	if young > 0 {
		l.giveUp(batch[:young], TooOld, 0, nil)
	}
	return batch[young:]
}

func (l *lane) giveUp(batch []record, condition string, invocations int, cause error) {
	letter := DeadLetter{Function: l.poller.opts.Function, Condition: condition, Invocations: invocations}
	if cause != nil {
		letter.Error = cause.Error()
	}
	for _, r := range batch {
		letter.Records = append(letter.Records, r.event)
	}
	p := l.poller
	p.opts.Logger.Error("records set aside", "function", letter.Function, "condition", condition,
		"records", len(batch), "firstSequence", batch[0].sequence, "error", letter.Error)
	p.mu.Lock()
	p.deadLetters = append(p.deadLetters, letter)
	p.mu.Unlock()
	p.dead.Add(int64(len(batch)))
	p.pending.Add(-int64(len(batch)))
}

func (l *lane) finish(n int) {
	l.poller.handled.Add(int64(n))
	l.poller.pending.Add(-int64(n))
}

func (l *lane) pause(ctx context.Context, tries int) {
	timer := time.NewTimer(l.poller.opts.Backoff << min(max(tries-1, 0), maxDoublings))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
