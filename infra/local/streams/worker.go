package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/delay"
)

const (
	// maxPayload is Lambda's limit of an event, in bytes.
	maxPayload = 6 << 20
	// envelopeSize is an upper bound of the size of an event without records, such as {"Records":[]}.
	envelopeSize = 1 << 10
	// maxDoublings bounds the growth of the backoff.
	maxDoublings = 6
)

// The conditions under which records become dead letters, as Lambda's on-failure destinations name them.
const (
	RetriesExhausted = "RetryAttemptsExhausted"
	TooOld           = "RecordAgeExceeded"
)

// DeadLetter is what the on-failure destination would get, and also the records themselves.
type DeadLetter struct {
	Function  string `json:"function"`
	Condition string `json:"condition"`
	// Invocations is how often these records were delivered.
	Invocations int `json:"invocations"`
	// Error is that of the last invocation. It is empty when the records grew too old.
	Error   string            `json:"error,omitempty"`
	Records []json.RawMessage `json:"records"`
}

// worker delivers the records of its items, one batch at a time.
type worker struct {
	poller *Poller
	queue  chan []record
	rest   []record // received from the queue and not yet in a batch
}

func (w *worker) run(ctx context.Context) error {
	for {
		batch, err := w.collect(ctx)
		if err != nil {
			return err
		}
		repeats := rand.Float64() < w.poller.opts.Repeat
		if repeats {
			w.poller.pending.Add(1) // so that nobody takes the work for done before the repetition
		}
		w.deliver(ctx, batch)
		if repeats {
			_, _ = w.invoke(ctx, batch)
			w.poller.pending.Add(-1)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// collect waits for a record, and then for more until the batch is full or its window is over. Without a window it
// takes only the records that are already queued.
func (w *worker) collect(ctx context.Context) ([]record, error) {
	first, err := w.next(ctx)
	if err != nil {
		return nil, err
	}
	window := time.NewTimer(w.poller.opts.Mapping.BatchWindow)
	defer window.Stop()
	batch, size := []record{first}, envelopeSize+len(first.raw)
	for len(batch) < w.poller.opts.Mapping.BatchSize && w.more(ctx, window.C) {
		next := w.rest[0]
		if size += len(next.raw) + 1; size > maxPayload {
			break
		}
		batch, w.rest = append(batch, next), w.rest[1:]
	}
	return batch, nil
}

func (w *worker) next(ctx context.Context) (record, error) {
	if len(w.rest) == 0 {
		select {
		case w.rest = <-w.queue:
		case <-ctx.Done():
			return record{}, ctx.Err()
		}
	}
	first := w.rest[0]
	w.rest = w.rest[1:]
	return first, nil
}

// more reports whether another record is there, after waiting for one as long as the window allows.
func (w *worker) more(ctx context.Context, window <-chan time.Time) bool {
	if len(w.rest) > 0 {
		return true
	}
	if w.poller.opts.Mapping.BatchWindow == 0 {
		select {
		case w.rest = <-w.queue:
		default:
		}
		return len(w.rest) > 0
	}
	select {
	case w.rest = <-w.queue:
	case <-window:
	case <-ctx.Done():
	}
	return len(w.rest) > 0
}

// deliver invokes the function until each record of the batch is handled or a dead letter, or ctx is done. After
// partial progress, the remaining records have all their retries again; so has each half after a bisection.
func (w *worker) deliver(ctx context.Context, batch []record) {
	attempts := 0
	for len(batch) > 0 && ctx.Err() == nil {
		if batch = w.dropAged(batch); len(batch) == 0 {
			return
		}
		done, err := w.invoke(ctx, batch)
		if ctx.Err() != nil {
			return
		}
		w.poller.handled.Add(int64(done))
		w.poller.pending.Add(int64(-done))
		batch = batch[done:]
		switch {
		case len(batch) == 0:
			return
		case done > 0:
			attempts = 0
		case w.poller.opts.Mapping.Bisect && len(batch) > 1:
			w.backOff(ctx, 0)
			w.deliver(ctx, batch[:len(batch)/2])
			batch, attempts = batch[len(batch)/2:], 0
			continue
		default:
			attempts++
		}
		if limit := w.poller.opts.Mapping.MaxRetries; limit != template.Unlimited && attempts > limit {
			w.giveUp(batch, RetriesExhausted, attempts, err)
			return
		}
		w.backOff(ctx, attempts)
	}
}

// invoke calls the function once. It returns how many records, counted from the first, are done.
func (w *worker) invoke(ctx context.Context, batch []record) (done int, err error) {
	raws := make([]json.RawMessage, len(batch))
	for i, r := range batch {
		raws[i] = r.raw
	}
	payload, err := json.Marshal(map[string][]json.RawMessage{"Records": raws})
	if err != nil {
		return 0, fmt.Errorf("encode batch: %w", err)
	}
	w.poller.invocations.Add(1)
	out, err := w.poller.opts.Invoker.Invoke(ctx, w.poller.opts.Function, payload)
	if err != nil {
		return 0, err
	}
	if !w.poller.opts.Mapping.ReportsItems {
		return len(batch), nil
	}
	return lowestFailure(out, batch)
}

// lowestFailure reads a partial batch response as Lambda does, and returns how many records are done. An empty report
// means success. Otherwise the records before the lowest reported sequence number are done. A report that can't be
// understood fails the whole batch.
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
			return 0, errors.New("read batch response: it names a record that is not in the batch")
		}
		done = min(done, i)
	}
	if done < len(batch) {
		err = errors.New("reported as failed")
	}
	return done, err
}

// dropAged makes dead letters of the records that are too old, and returns the others.
func (w *worker) dropAged(batch []record) []record {
	limit := w.poller.opts.Mapping.MaxAge
	if limit == template.Unlimited {
		return batch
	}
	young := slices.IndexFunc(batch, func(r record) bool {
		return time.Since(r.created) <= limit
	})
	if young < 0 {
		young = len(batch)
	}
	if young > 0 {
		w.giveUp(batch[:young], TooOld, 0, nil)
	}
	return batch[young:]
}

func (w *worker) giveUp(batch []record, condition string, invocations int, cause error) {
	letter := DeadLetter{Function: w.poller.opts.Function, Condition: condition, Invocations: invocations}
	if cause != nil {
		letter.Error = cause.Error()
	}
	for _, r := range batch {
		letter.Records = append(letter.Records, r.raw)
	}
	p := w.poller
	p.opts.Logger.Error("stream records became dead letters", "function", letter.Function, "condition", condition,
		"records", len(batch), "firstSequence", batch[0].sequence, "error", letter.Error)
	p.mu.Lock()
	p.deadLetters = append(p.deadLetters, letter)
	p.mu.Unlock()
	p.pending.Add(-int64(len(batch)))
}

// backOff waits before the next attempt, or until ctx is done.
func (w *worker) backOff(ctx context.Context, attempts int) {
	_ = delay.Sleep(ctx, w.poller.opts.Backoff<<min(max(attempts-1, 0), maxDoublings)) // the caller checks ctx
}
