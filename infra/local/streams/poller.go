// Package streams delivers the records of a real DynamoDB stream to a function, as Lambda's event source mapping
// does: filters, batches, partial batch responses, retries with backoff, bisection, retry limits, dead letters.
//
// It guarantees what DynamoDB guarantees, and no more: the records of one item arrive in order, those of different
// items are interleaved, and any record may arrive again. DynamoDB Local has one shard and therefore a total order,
// unlike a deployed table. The records are therefore spread over at least two workers by the key of their item, also
// for a mapping whose ParallelizationFactor is 1. Each batch, and each delivery of the same batch, is an invocation of
// its own and may reach another instance of the function.
package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/local/eventpattern"
	"github.com/throughline/throughline/infra/local/template"
)

const (
	minWorkers = 2
	maxWorkers = 4
	// queueLength is how many pages can wait for one worker. A full queue stops the reading, as a blocked shard does.
	queueLength = 20
)

// Invoker calls a function. An error is a failed invocation.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) ([]byte, error)
}

// Options say what a poller reads and how it delivers.
type Options struct {
	Client    *dynamodbstreams.Client
	StreamARN string
	// Function is the function's name for the Invoker. Mapping says how it gets its records.
	Function string
	Mapping  template.Stream
	Invoker  Invoker
	Logger   *slog.Logger
	// CheckpointFile stores between runs how far the stream is handled. Without it, each run begins at the mapping's
	// starting position.
	CheckpointFile string
	// Repeat is the share of batches, 0 to 1, that are delivered again after they succeeded.
	Repeat float64
	// Backoff is the wait before the first retry. It doubles with each further one, up to 64 times; 0 means 200 ms.
	Backoff time.Duration
}

// Stats counts records since the poller was made.
type Stats struct {
	Handled int64 // were delivered with success
	Pending int64 // are read, and neither handled nor dead letters
	// Invocations counts the calls of the function.
	Invocations int64
	// CaughtUp is a time before which every write has been handled. It is zero while records are pending.
	CaughtUp time.Time
}

// Poller is one consumer of a stream. Two pollers of one stream are independent. Its methods may be called
// concurrently, but Run only once.
type Poller struct {
	opts    Options
	filters []eventpattern.Pattern
	workers []*worker
	restart chan chan struct{}

	handled, pending, invocations atomic.Int64
	// emptyPass is when the last pass that found no record began, in Unix nanoseconds.
	emptyPass atomic.Int64

	mu          sync.Mutex
	deadLetters []DeadLetter
}

// New returns a poller that does not run yet. It fails on a filter that can't be parsed.
func New(opts Options) (*Poller, error) {
	if opts.Backoff == 0 {
		opts.Backoff = 200 * time.Millisecond
	}
	p := &Poller{opts: opts, restart: make(chan chan struct{})}
	for _, pattern := range opts.Mapping.Filters {
		parsed, err := eventpattern.Parse(pattern)
		if err != nil {
			return nil, fmt.Errorf("mapping %s of %s: %w", opts.Mapping.Name, opts.Function, err)
		}
		p.filters = append(p.filters, parsed)
	}
	for range min(max(opts.Mapping.Parallel, minWorkers), maxWorkers) {
		p.workers = append(p.workers, &worker{poller: p, queue: make(chan []record, queueLength)})
	}
	return p, nil
}

// Run reads and delivers until ctx is done, and returns when all its goroutines have ended. Records that are pending
// then are delivered again by the next run.
func (p *Poller) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, w := range p.workers {
		group.Go(func() error { return w.run(ctx) })
	}
	r := &reader{poller: p, shards: map[string]*shard{}, checkpoint: checkpoint{
		path: p.opts.CheckpointFile, StreamARN: p.opts.StreamARN,
	}}
	group.Go(func() error { return r.run(ctx) })
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Redeliver makes the poller deliver the whole stream again, from its oldest record. It returns when the poller has
// gone back to that record. The records count in Stats again.
func (p *Poller) Redeliver(ctx context.Context) error {
	restarted := make(chan struct{})
	select {
	case p.restart <- restarted:
		<-restarted
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stats returns the counters.
func (p *Poller) Stats() Stats {
	empty := p.emptyPass.Load() // loaded before pending: records read after it belong to a later pass
	s := Stats{Handled: p.handled.Load(), Pending: p.pending.Load(), Invocations: p.invocations.Load()}
	if s.Pending == 0 && empty != 0 {
		s.CaughtUp = time.Unix(0, empty)
	}
	return s
}

// Wait returns when every record of a write before since has been handled or become a dead letter.
func (p *Poller) Wait(ctx context.Context, since time.Time) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !p.Stats().CaughtUp.After(since) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// DeadLetters returns the dead letters so far, the oldest first.
func (p *Poller) DeadLetters() []DeadLetter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.deadLetters)
}

// submit queues the records of a page that pass the filters, each for the worker of its item.
func (p *Poller) submit(ctx context.Context, page []record) error {
	parts := make([][]record, len(p.workers))
	passed := 0
	for _, r := range page {
		if p.passes(r.document) {
			r.document = nil // nobody else needs it
			worker := r.key % uint64(len(p.workers))
			parts[worker] = append(parts[worker], r)
			passed++
		}
	}
	p.pending.Add(int64(passed))
	for i, part := range parts {
		if len(part) == 0 {
			continue
		}
		select {
		case p.workers[i].queue <- part:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (p *Poller) passes(event any) bool {
	matches := func(f eventpattern.Pattern) bool { return f.Match(event) }
	return len(p.filters) == 0 || slices.ContainsFunc(p.filters, matches)
}
