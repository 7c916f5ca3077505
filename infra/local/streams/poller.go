// Package streams delivers the records of a real DynamoDB stream to a function, as Lambda's event source mapping
// does: filters, batches, partial batch responses, retries with back-off, bisection, retry limits, dead letters.
//
// It keeps DynamoDB's promise and no more (api 6): the records of one item arrive in order, those of different items
// are interleaved, and any record may arrive again. DynamoDB Local has one shard, whose total order no deployed
// table has; so records are spread over lanes by their item's key, as parallelization spreads a shard.
package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/local/eventpattern"
	"github.com/throughline/throughline/infra/local/template"
)

const (
	minLanes = 2
	maxLanes = 4
	// laneQueue bounds the pages that wait for one lane; a full lane holds up reading, as a blocked shard does.
	laneQueue = 100
)

// Invoker calls a function; an error is a failed invocation. lambdaapi.Runtime is one.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) ([]byte, error)
}

// Options say what a poller reads and how it delivers.
type Options struct {
	Client    *dynamodbstreams.Client
	StreamARN string
	// Function is the function's name for the Invoker; Mapping says how it wants its records.
	Function string
	Mapping  template.Stream
	Invoker  Invoker
	Logger   *slog.Logger
	// CheckpointFile keeps how far the stream is handled between runs; empty starts at the mapping's position.
	CheckpointFile string
	// Repeat is the share of batches, 0 to 1, that are delivered once more after they succeeded.
	Repeat float64
	// Backoff is the pause before the first retry, doubled for each next one up to 64 times; 0 means 200 ms.
	Backoff time.Duration
}

// Stats count records since the poller was made.
type Stats struct {
	// Read came from the stream; Filtered of them matched no filter; Handled succeeded; Dead were set aside.
	Read, Filtered, Handled, Dead int64
	// Pending are read and neither handled nor dead. Invocations counts calls of the function.
	Pending, Invocations int64
	// CaughtUp is a time before which every write has been handled; zero while records are pending.
	CaughtUp time.Time
}

// Poller is one consumer of a stream. Two pollers of the same stream do not know of each other. Its methods may be
// called concurrently; Run once.
type Poller struct {
	opts    Options
	filters []eventpattern.Pattern
	lanes   []*lane
	restart chan chan struct{}

	read, filtered, handled, dead, pending, invocations atomic.Int64
	emptyPass                                           atomic.Int64 // unix nanoseconds at which a pass that read nothing began

	mu          sync.Mutex
	deadLetters []DeadLetter
	random      *rand.Rand
}

// New returns a poller that has not begun. Its error names a filter that cannot be parsed.
func New(opts Options) (*Poller, error) {
	if opts.Backoff == 0 {
		opts.Backoff = 200 * time.Millisecond
	}
	p := &Poller{opts: opts, restart: make(chan chan struct{}), random: rand.New(rand.NewPCG(1, 2))}
	for _, pattern := range opts.Mapping.Filters {
		parsed, err := eventpattern.Parse(pattern)
		if err != nil {
			return nil, fmt.Errorf("mapping %s of %s: %w", opts.Mapping.Name, opts.Function, err)
		}
		p.filters = append(p.filters, parsed)
	}
	for range min(max(opts.Mapping.Parallel, minLanes), maxLanes) {
		p.lanes = append(p.lanes, &lane{poller: p, queue: make(chan []record, laneQueue)})
	}
	return p, nil
}

// Run reads and delivers until ctx is done, and returns when every goroutine of it has ended. What is under way then
// is delivered again by the next run.
func (p *Poller) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range p.lanes {
		group.Go(func() error { return l.run(ctx) })
	}
	group.Go(func() error { return newReader(p).run(ctx) })
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Redeliver makes the poller read the stream again from its oldest record, as a redelivery of everything. It returns
// when the reading has begun anew; what is read shows in Stats as any record does.
func (p *Poller) Redeliver(ctx context.Context) error {
	begun := make(chan struct{})
	select {
	case p.restart <- begun:
		<-begun
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stats returns the counters.
func (p *Poller) Stats() Stats {
	empty := p.emptyPass.Load() // before pending: what is read later belongs to a later pass
	s := Stats{
		Read: p.read.Load(), Filtered: p.filtered.Load(), Handled: p.handled.Load(), Dead: p.dead.Load(),
		Pending: p.pending.Load(), Invocations: p.invocations.Load(),
	}
	if s.Pending == 0 && empty != 0 {
		s.CaughtUp = time.Unix(0, empty)
	}
	return s
}

// Wait returns when every write made before since has been handled or set aside.
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

// DeadLetters returns what was set aside so far, oldest first.
func (p *Poller) DeadLetters() []DeadLetter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]DeadLetter(nil), p.deadLetters...)
}

// submit hands a page's records to their items' lanes, those that a filter lets pass.
func (p *Poller) submit(ctx context.Context, page []record) error {
	parts := make([][]record, len(p.lanes))
	passed := 0
	for _, r := range page {
		if p.passes(r.document) {
			lane := r.key % uint64(len(p.lanes))
			parts[lane] = append(parts[lane], r)
			passed++
		}
	}
	p.read.Add(int64(len(page)))
	p.filtered.Add(int64(len(page) - passed))
	p.pending.Add(int64(passed))
	for i, part := range parts {
		if len(part) == 0 {
			continue
		}
		select {
		case p.lanes[i].queue <- part:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (p *Poller) passes(event any) bool {
	for _, f := range p.filters {
		if f.Match(event) {
			return true
		}
	}
	return len(p.filters) == 0
}

// repeats decides whether a batch comes once more.
func (p *Poller) repeats() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.Float64() < p.opts.Repeat
}
