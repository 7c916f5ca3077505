package sweep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/parallel"
)

const (
	// AtOnce is how many records one invocation works on at once. A model that takes 5 s then gives 32 sessions a second.
	AtOnce = 160
	// readAhead is of how many users an invocation reads records before it deals them out. It looks past one user's
	// many records for those of others, pageSize records at once, and pagesAhead pages before it goes on to work.
	readAhead  = 2 * AtOnce
	pageSize   = 500
	pagesAhead = 20
	// reserve is the time before the deadline in which no work begins. The answer of a model may take 20 s and, as nobody
	// waits for it, llm.Patience.
	reserve = 25*time.Second + llm.Patience
	// endReserve is the time before the deadline in which the visits are cut off and the claims are ended.
	endReserve = 3 * time.Second
	// ClaimTime is how long a claim lasts. It is longer than an invocation, whose claims all end with it.
	ClaimTime = 3 * time.Minute
	// passWait is the time between two looks at the shards while nothing new is due and visits are under way.
	passWait = time.Second
	// trustedFailures is how often the work on a record may fail before its claim is extended by the wait after a
	// failure. So a record that ends the whole invocation is claimed less and less often, too.
	trustedFailures = 2
)

// run is the work of one invocation on its shards.
type run struct {
	*Service
	readers []*reader
	dealer  *dealer
	permits chan struct{}
	visits  sync.WaitGroup
	// begun has the records that were dealt out, because the index may still show them when it is read again.
	begun map[Due]bool

	mu     sync.Mutex
	swept  Swept
	active int
	idle   chan struct{} // has a value when no visit is under way any more
	ended  chan struct{} // has a value when a visit has ended
}

// reader is how far a shard is read in this pass.
type reader struct {
	shard Shard
	after *Due
	ended bool
	page  []Due
	err   error
}

func (s *Service) newRun(shards []Shard) *run {
	r := &run{
		Service: s, dealer: &dealer{records: map[conversation.UserID][]Due{}}, begun: map[Due]bool{},
		permits: make(chan struct{}, AtOnce), idle: make(chan struct{}, 1), ended: make(chan struct{}, 1),
	}
	for _, shard := range shards {
		r.readers = append(r.readers, &reader{shard: shard})
	}
	return r
}

// work visits what is due until nothing is, or until the time is over.
func (r *run) work(ctx context.Context) (Swept, error) {
	starting, stop := beforeDeadline(ctx, reserve)
	defer stop()
	working, cancel := beforeDeadline(ctx, endReserve)
	defer cancel()
	err := r.passes(starting, working)
	r.visits.Wait()
	r.swept.Left = starting.Err() != nil
	return r.swept, err
}

// beforeDeadline returns a context that ends some time before ctx does.
func beforeDeadline(ctx context.Context, reserve time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-reserve))
	}
	return context.WithCancel(ctx)
}

// passes reads the shards again and again, because work that was done may have left more, and because records fall due
// in the meantime.
func (r *run) passes(starting, working context.Context) error {
	for {
		wasIdle := r.isIdle()
		dealt, err := r.pass(starting, working)
		switch {
		case err != nil || starting.Err() != nil:
			return err
		case dealt > 0:
		case wasIdle:
			return nil
		default:
			r.await(starting)
		}
	}
}

// await waits until no visit is under way, at most passWait.
func (r *run) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, passWait)
	defer cancel()
	select {
	case <-r.idle:
	case <-ctx.Done():
	}
}

// pass reads each shard from its earliest record to its last one that is due now, and deals out what it finds. A
// failure to read a shard ends the pass when the others are done.
func (r *run) pass(starting, working context.Context) (dealt int, err error) {
	for _, x := range r.readers {
		x.after, x.ended, x.err = nil, false, nil
	}
	at := r.Now()
	for more := true; more; {
		more = r.fill(starting, at)
		isFull := r.dealer.users() >= readAhead
		for r.dealer.size > 0 && (!isFull || r.dealer.users() >= readAhead/2) {
			if !r.begin(starting, working, r.dealer.next()) {
				return dealt, nil
			}
			dealt++
		}
	}
	failures := make([]error, len(r.readers))
	for i, x := range r.readers {
		failures[i] = x.err
	}
	return dealt, firstOf("read the shards", failures)
}

// fill reads ahead from all shards side by side. It reports whether there is more to read.
func (r *run) fill(ctx context.Context, at time.Time) (more bool) {
	for pages := 0; pages < pagesAhead && r.dealer.users() < readAhead; pages++ {
		parallel.Each(len(r.readers), len(r.readers), func(i int) { r.readers[i].read(ctx, r.Store, at) })
		more = false
		for _, x := range r.readers {
			for _, d := range x.page {
				if !r.begun[d] && r.dealer.add(d) {
					r.begun[d] = true
				}
			}
			more = more || !x.ended
		}
		if !more {
			return false
		}
	}
	return true
}

// read reads the next page of a shard.
func (x *reader) read(ctx context.Context, store Store, at time.Time) {
	x.page = nil
	if x.ended {
		return
	}
	x.page, x.err = store.Due(ctx, x.shard, at, x.after, pageSize)
	if x.ended = x.err != nil || len(x.page) < pageSize; !x.ended {
		x.after = &x.page[len(x.page)-1]
	}
}

// awaitRoom waits until a visit of a queue's record may begin. It reports false where it may not now.
func (r *run) awaitRoom(ctx context.Context, d Due) bool {
	work, ok := r.workOf(d.Shard)
	if !ok || work.AtOnce == nil {
		return true
	}
	for ctx.Err() == nil {
		most := work.AtOnce()
		r.mu.Lock()
		active := r.active
		r.mu.Unlock()
		if most == 0 || active < most {
			return most > 0
		}
		select {
		case <-r.ended:
		case <-ctx.Done():
		}
	}
	return false
}

// begin starts a visit when there is room for it, or leaves the record to the next sweep. It reports false when the
// time is over.
func (r *run) begin(starting, working context.Context, d Due) bool {
	if !r.awaitRoom(starting, d) {
		return starting.Err() == nil
	}
	select {
	case r.permits <- struct{}{}:
	case <-starting.Done():
	}
	if starting.Err() != nil {
		return false
	}
	r.mu.Lock()
	r.active++
	r.mu.Unlock()
	r.visits.Go(func() {
		r.visit(working, d)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.active--; r.active == 0 {
			signal(r.idle)
		}
		signal(r.ended)
		<-r.permits
	})
	return true
}

// signal puts a value into a channel unless it has one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (r *run) isIdle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active == 0
}

// visit claims a record and works on it.
func (r *run) visit(ctx context.Context, d Due) {
	work, ok := r.workOf(d.Shard)
	if !ok {
		return
	}
	claim, ok, err := r.Store.Claim(ctx, d, r.Now().Add(ClaimTime))
	if err == nil && !ok {
		return // somebody else works on it
	}
	if err == nil && claim.Failures > trustedFailures {
		claim, err = r.Store.Extend(ctx, claim, r.Now().Add(r.wait(work, claim, nil)))
	}
	var outcome Outcome
	if err == nil {
		noted := &notes{tally: &r.tally, since: claim.Since}
		visit := context.WithValue(ctx, notesKey{}, noted)
		if outcome, err = visitRecovering(visit, work.Visitor, claim); err == nil || !noted.isMade {
			Note(visit, work.Queue.Name, err)
		}
		// The claim is ended even when the deadline has cut the visit off.
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endReserve)
		defer cancel()
		err = errors.Join(err, r.end(ending, work, claim, outcome, err))
	}
	if err != nil {
		r.Report(ctx, "sweep", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.swept.Visited++
	if !claim.Since.IsZero() {
		r.swept.Oldest = max(r.swept.Oldest, r.Now().Sub(claim.Since))
	}
	if err != nil {
		r.swept.Failed++
	}
}

// end does with a visited record what its outcome says. A record whose visit failed waits.
func (r *run) end(ctx context.Context, work Work, c Claim, outcome Outcome, failure error) error {
	switch {
	case failure != nil && c.Failures > trustedFailures && IsOfRecord(failure):
		return r.Store.Postpone(ctx, c, c.Until, false) // the claim was extended by the wait
	case failure != nil:
		return r.Store.Postpone(ctx, c, r.Now().Add(r.wait(work, c, failure)), false)
	case outcome.kind == removed:
		return r.Store.Remove(ctx, c)
	case outcome.kind == postponed:
		return r.Store.Postpone(ctx, c, outcome.at, true)
	}
	return nil
}

// visitRecovering turns a panic of a visit into an error, so that the other records are visited.
func visitRecovering(ctx context.Context, v Visitor, c Claim) (o Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %T", v) // the panic's text may quote the record
		}
	}()
	return v.Visit(ctx, c)
}

// wait is how long a record waits after a failure. The wait grows where the failure may be the record's own.
func (s *Service) wait(w Work, c Claim, failure error) time.Duration {
	failures := 1
	if IsOfRecord(failure) {
		failures = c.Failures
	}
	return Wait(w.FirstWait, failures, s.Random())
}

func (s *Service) workOf(shard Shard) (Work, bool) {
	for _, w := range s.Works {
		if w.Queue.Has(shard) {
			return w, true
		}
	}
	return Work{}, false
}
