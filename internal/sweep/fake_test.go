package sweep_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/sweep"
)

// store is a due index with the conditions of the real one. It orders the records of a shard by their times, and it
// can lag: what it lists is as it was some time ago.
type store struct {
	mu      sync.Mutex
	records map[string]*record
	shards  map[sweep.Shard][]entry
	leases  map[sweep.Shard]lease
	latency time.Duration
	lists   int
	visits  []sweep.StageVisits
	// down is the error of every operation, unless it is nil.
	down error
}

// record is one due record.
type record struct {
	user     conversation.UserID
	shard    sweep.Shard
	dueAt    time.Time // zero when it is not due
	claimed  bool
	failures int
	since    time.Time // of the first of the failures
}

type entry struct {
	dueAt time.Time
	id    string
}

func (e entry) compare(to entry) int {
	return cmp.Or(e.dueAt.Compare(to.dueAt), cmp.Compare(e.id, to.id))
}

type lease struct {
	owner string
	until time.Time
}

func newStore() *store {
	return &store{
		records: map[string]*record{}, shards: map[sweep.Shard][]entry{}, leases: map[sweep.Shard]lease{},
	}
}

// add adds a record that is due at a time.
func (s *store) add(id string, user conversation.UserID, shard sweep.Shard, dueAt time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[id] = &record{user: user, shard: shard}
	s.move(id, dueAt)
}

// move changes the time of a record in the index. A zero time removes it.
func (s *store) move(id string, at time.Time) {
	r := s.records[id]
	list := s.shards[r.shard]
	if !r.dueAt.IsZero() {
		if i, ok := slices.BinarySearchFunc(list, entry{r.dueAt, id}, entry.compare); ok {
			list = remove(list, i)
		}
	}
	if r.dueAt = at; !at.IsZero() {
		e := entry{at, id}
		i, _ := slices.BinarySearchFunc(list, e, entry.compare)
		list = slices.Insert(list, i, e)
	}
	s.shards[r.shard] = list
}

// remove removes an entry, and moves those of the shorter side.
func remove(list []entry, i int) []entry {
	if i < len(list)/2 {
		copy(list[1:], list[:i])
		return list[1:]
	}
	return slices.Delete(list, i, i+1)
}

// due counts the records that are in the index.
func (s *store) due() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.shards {
		n += len(list)
	}
	return n
}

func (s *store) call() error {
	time.Sleep(s.latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// setDown makes every operation fail, or none.
func (s *store) setDown(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

func (s *store) Due(_ context.Context, shard sweep.Shard, at time.Time, after *sweep.Due, limit int,
) ([]sweep.Due, error) {
	if err := s.call(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	list := s.shards[shard]
	from := 0
	if after != nil {
		var found bool
		if from, found = slices.BinarySearchFunc(list, entry{after.DueAt, after.ID}, entry.compare); found {
			from++
		}
	}
	var out []sweep.Due
	for _, e := range list[from:] {
		if e.dueAt.After(at) || len(out) == limit {
			break
		}
		out = append(out, sweep.Due{
			Partition: "p", ID: e.id, User: s.records[e.id].user, Shard: shard, DueAt: e.dueAt,
		})
	}
	return out, nil
}

func (s *store) Claim(_ context.Context, d sweep.Due, until time.Time) (sweep.Claim, bool, error) {
	if err := s.call(); err != nil {
		return sweep.Claim{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[d.ID]
	if !ok || !r.dueAt.Equal(d.DueAt) {
		return sweep.Claim{}, false, nil
	}
	s.move(d.ID, until)
	r.claimed = true
	if r.failures++; r.failures == 1 {
		r.since = d.DueAt
	}
	return sweep.Claim{Due: d, Until: until, Failures: r.failures, Since: r.since}, true, nil
}

// end changes a claimed record.
func (s *store) end(c sweep.Claim, at time.Time, change func(*record)) error {
	if err := s.call(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.records[c.ID]; ok && r.claimed && r.dueAt.Equal(c.Until) {
		s.move(c.ID, at)
		change(r)
	}
	return nil
}

func (s *store) Extend(_ context.Context, c sweep.Claim, until time.Time) (sweep.Claim, error) {
	if err := s.end(c, until, func(*record) {}); err != nil {
		return c, err
	}
	c.Until = until
	return c, nil
}

func (s *store) Postpone(_ context.Context, c sweep.Claim, at time.Time, succeeded bool) error {
	return s.end(c, at, func(r *record) {
		if r.claimed = false; succeeded {
			r.failures = 0
		}
	})
}

func (s *store) Remove(_ context.Context, c sweep.Claim) error {
	return s.end(c, time.Time{}, func(r *record) { r.claimed, r.failures = false, 0 })
}

func (s *store) Lease(_ context.Context, shard sweep.Shard, owner string, until time.Time) (bool, error) {
	if err := s.call(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, ok := s.leases[shard]; ok && held.until.After(time.Now()) {
		return false, nil
	}
	s.leases[shard] = lease{owner, until}
	return true, nil
}

func (s *store) Release(_ context.Context, shard sweep.Shard, owner string) error {
	if err := s.call(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[shard].owner == owner {
		delete(s.leases, shard)
	}
	return nil
}

func (s *store) AddVisits(_ context.Context, visits []sweep.StageVisits) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits = append(s.visits, visits...)
	return nil
}

// visitor is a visitor that a test writes as a function.
type visitor func(ctx context.Context, c sweep.Claim) (sweep.Outcome, error)

func (v visitor) Visit(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) { return v(ctx, c) }

// firstWait is the wait after a first failure in these tests.
const firstWait = 15 * time.Minute

// lambda invokes a sweep as the service does: each invocation has its own deadline, and started ones run side by side.
type lambda struct {
	t       *testing.T
	service *sweep.Service
	timeout time.Duration
	running sync.WaitGroup

	mu          sync.Mutex
	active      int
	mostActive  int
	invocations []invocation
	reported    int
}

// invocation is what an invocation did.
type invocation struct {
	task  sweep.Task
	swept sweep.Swept
	took  time.Duration
	err   error
}

// newLambda returns a function that sweeps a store. The visitor does the work of all queues.
func newLambda(t *testing.T, s sweep.Store, v visitor) *lambda {
	l := &lambda{t: t, timeout: 2 * time.Minute}
	var works []sweep.Work
	for _, q := range []sweep.Queue{sweep.Sessions, sweep.Deletions, sweep.Records} {
		works = append(works, sweep.Work{Queue: q, Visitor: v, FirstWait: firstWait})
	}
	owners := 0
	l.service = sweep.New(sweep.Deps{
		Store: s, Works: works, Now: time.Now, Random: rand.New(rand.NewPCG(1, 2)).Float64,
		Invoke: func(_ context.Context, task sweep.Task) error {
			l.start(task)
			return nil
		},
		NewOwner: func() string {
			l.mu.Lock()
			defer l.mu.Unlock()
			owners++
			return fmt.Sprint("owner", owners)
		},
		Report: func(context.Context, string, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.reported++
		},
	})
	l.service.Random = func() float64 { return 0 }
	return l
}

// start starts an invocation.
func (l *lambda) start(task sweep.Task) { l.running.Go(func() { l.invoke(task) }) }

// invoke invokes the function and waits for it.
func (l *lambda) invoke(task sweep.Task) invocation {
	l.mu.Lock()
	l.active++
	l.mostActive = max(l.mostActive, l.active)
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(l.t.Context(), l.timeout)
	defer cancel()
	began := time.Now()
	swept, err := l.service.Sweep(ctx, task)
	out := invocation{task, swept, time.Since(began), err}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	l.invocations = append(l.invocations, out)
	return out
}

// schedule starts an invocation every minute until done is closed.
func (l *lambda) schedule(done <-chan struct{}) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		l.start(sweep.Task{})
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}
