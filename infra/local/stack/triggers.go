package stack

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
)

// sweepName and canaryName are the schedules whose rate TRIGGERS can change. A rate also starts the canary, which the
// template has off.
const (
	sweepName  = "sweep"
	canaryName = "canary"
)

const (
	// settleLook is the time that one check of an idle stack may take. The consumers of an idle stream read it rarely, so
	// even a caller that does not want to wait waits this long for a true answer.
	settleLook = time.Second
	// settleInterval is the time between two checks while work is not done.
	settleInterval = 50 * time.Millisecond
	// waitsFor is how long a session waits at most for the lease of another one of its user.
	waitsFor = time.Minute
	// dueLimit is how many due records of each shard a check counts at most.
	dueLimit = 100
)

// triggers invoke functions: the pollers for what the table's stream brings, the schedules by the clock.
type triggers struct {
	host
	services *services
	runtime  *lambdaapi.Runtime

	pollers   []*streams.Poller
	schedules []*schedule
}

// start starts the stream mappings and schedules of the functions.
func (t *triggers) start(functions []template.Function) error {
	checkpoints, err := t.cfg.dataFolder("checkpoints")
	if err != nil {
		return err
	}
	for _, f := range functions {
		for _, mapping := range f.Streams {
			if err := t.startPoller(f, mapping, checkpoints); err != nil {
				return err
			}
		}
		for _, timer := range f.Schedules {
			t.startSchedule(f, timer)
		}
	}
	return nil
}

// longestWindow is how long the local stack gathers a batch at most: nobody shares its one shard, so a longer window of
// the template would only delay.
const longestWindow = time.Second

func (t *triggers) startPoller(f template.Function, mapping template.Stream, checkpoints string) error {
	mapping.BatchWindow = min(mapping.BatchWindow, longestWindow)
	opts := streams.Options{
		Client: t.services.streams, StreamARN: t.services.streamARN, Function: f.PhysicalName, Mapping: mapping,
		Invoker: t.runtime, Logger: t.logger, Repeat: t.cfg.Repeat,
	}
	if checkpoints != "" {
		opts.CheckpointFile = filepath.Join(checkpoints, f.Name+"-"+mapping.Name+".json")
	}
	poller, err := streams.New(opts)
	if err != nil {
		return err
	}
	t.pollers = append(t.pollers, poller)
	t.supervisor.run(func(ctx context.Context) error {
		if err := poller.Run(ctx); err != nil {
			return fmt.Errorf("poll stream for %s: %w", f.Name, err)
		}
		return nil
	})
	t.printer.print("stream", "", fmt.Sprintf("%s -> %s, batches of %d", t.cfg.TableName, f.Name, mapping.BatchSize))
	return nil
}

// schedule invokes a function at a fixed rate. As the service's schedules do, it does not wait for an invocation: the
// next one may run beside it, invocationsAtOnce at most.
type schedule struct {
	name, function string
	event          []byte
	running        chan struct{} // has room for the invocations under way
}

// invocationsAtOnce bounds the invocations of a schedule, as a function's reserved concurrency does. Without a bound, a
// machine that is slower than the rate would have more and more of them.
const invocationsAtOnce = 4

func (t *triggers) startSchedule(f template.Function, timer template.Schedule) {
	own := map[string]time.Duration{sweepName: t.cfg.Triggers.Sweep, canaryName: t.cfg.Triggers.Canary}
	every := cmp.Or(own[strings.ToLower(timer.Name)], timer.Every)
	if timer.Off && own[strings.ToLower(timer.Name)] == 0 {
		return
	}
	s := &schedule{name: timer.Name, function: f.PhysicalName, event: []byte(timer.Input)}
	s.running = make(chan struct{}, invocationsAtOnce)
	if timer.Input == "" {
		s.event = []byte("{}")
	}
	t.schedules = append(t.schedules, s)
	t.supervisor.run(func(ctx context.Context) error {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.supervisor.run(func(ctx context.Context) error {
					t.fire(ctx, s)
					return nil
				})
			case <-ctx.Done():
				return nil
			}
		}
	})
	t.printer.print("schedule", "", fmt.Sprintf("%s -> %s, every %s", timer.Name, f.Name, every))
}

// fire invokes a scheduled function once and waits for it, unless enough of its invocations are under way. The runtime
// logs the function's own errors.
func (t *triggers) fire(ctx context.Context, s *schedule) {
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	default:
		return
	}
	if _, err := t.runtime.Invoke(ctx, s.function, s.event); err != nil && ctx.Err() == nil {
		t.logger.WarnContext(ctx, "schedule", "name", s.name, "function", s.function, "error", err)
	}
}

// sweep runs the sweep now.
func (t *triggers) sweep(ctx context.Context) {
	for _, s := range t.schedules {
		if strings.EqualFold(s.name, sweepName) {
			t.fire(ctx, s)
		}
	}
}

// Settled says how far the background work is.
type Settled struct {
	// Settled says that every write had been handled, no function ran, nothing was due, and no session that is at rest
	// waited for the lease of another.
	Settled bool `json:"settled"`
	// Records counts the stream records that all consumers together have handled since the stack started. Pending
	// counts the records of the stream and the due records that are still to be done.
	Records int64 `json:"records"`
	Pending int64 `json:"pending"`
	// DeadLetters counts, by function, the records that were set aside since the stack started, because a function failed
	// on them too often. Nothing is pending of them: without them settled would say more than was done.
	DeadLetters map[string]int `json:"deadLetters,omitempty"`
}

// settle waits until the stream's consumers have handled every write, their own included, no function runs, and
// nothing is due. It starts the sweep where something is due. It gives up when ctx ends.
func (t *triggers) settle(ctx context.Context) Settled {
	due, settled := 0, false
	for !settled && ctx.Err() == nil {
		var n int
		if n, settled = t.settleOnce(ctx); settled || ctx.Err() == nil {
			due = n // a check that was cut off has not counted
		}
		if !settled {
			_ = delay.Sleep(ctx, settleInterval) // the loop looks at ctx
		}
	}
	out := Settled{Settled: settled, Pending: int64(due)}
	for _, p := range t.pollers {
		stats := p.Stats()
		out.Records += stats.Handled
		out.Pending += stats.Pending
	}
	for _, letter := range t.deadLetters() {
		if out.DeadLetters == nil {
			out.DeadLetters = map[string]int{}
		}
		out.DeadLetters[letter.Function] += len(letter.Records)
	}
	return out
}

// dueNow counts what is due in all shards.
func (t *triggers) dueNow(ctx context.Context) (int, error) {
	var total atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for _, shard := range sweep.AllShards() {
		group.Go(func() error {
			page, err := t.services.due.Due(ctx, shard, time.Now(), nil, dueLimit)
			total.Add(int64(len(page)))
			return err
		})
	}
	err := group.Wait()
	return int(total.Load()), err
}

// settleOnce checks once. The consumers being caught up with a moment is not enough, because functions that ran
// meanwhile may have written. So no function may have run between that moment and now.
func (t *triggers) settleOnce(ctx context.Context) (due int, settled bool) {
	since, before := time.Now(), t.invocations()
	for _, p := range t.pollers {
		if p.Wait(ctx, since) != nil {
			return 0, false
		}
	}
	due, err := t.dueNow(ctx)
	if err != nil {
		t.logger.WarnContext(ctx, "look for what is due", "error", err)
		return 0, false
	}
	if due > 0 {
		t.sweep(ctx)
		return due, false
	}
	waiting, err := t.waiting(ctx)
	if err != nil || waiting > 0 {
		return waiting, false
	}
	return 0, t.runtime.Active() == 0 && t.invocations() == before
}

// waiting counts the sessions at rest that are soon due with something left to do. Another session of their user had
// the lease. One that a user is in falls due when it is idle, and waits for nothing.
func (t *triggers) waiting(ctx context.Context) (n int, err error) {
	soon := time.Now().Add(waitsFor)
	for _, shard := range sweep.Sessions.Shards() {
		page, err := t.services.due.Due(ctx, shard, soon, nil, dueLimit)
		if err != nil {
			return n, err
		}
		for _, d := range page {
			s, err := t.services.due.SessionDue(ctx, d)
			if fault.IgnoreNotFound(err) != nil {
				return n, err
			}
			isAtRest := !s.LeftAt.IsZero() || s.Status != conversation.Active
			if err == nil && isAtRest && s.Uncovered() {
				n++
			}
		}
	}
	return n, nil
}

func (t *triggers) invocations() (n int64) {
	for _, p := range t.pollers {
		n += p.Stats().Invocations
	}
	return n
}

// redeliver makes every consumer of the stream start from its beginning.
func (t *triggers) redeliver(ctx context.Context) error {
	for _, p := range t.pollers {
		if err := p.Redeliver(ctx); err != nil {
			return err
		}
	}
	return nil
}

// deadLetters returns what the stream's consumers set aside.
func (t *triggers) deadLetters() []streams.DeadLetter {
	letters := []streams.DeadLetter{}
	for _, p := range t.pollers {
		letters = append(letters, p.DeadLetters()...)
	}
	return letters
}
