package sweep_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
)

var errDown = errors.New("down")

// modelTime is how long the model takes in these tests.
const modelTime = 5 * time.Second

// work returns the outcome after the time that a model takes, or the context's error.
func work(ctx context.Context, outcome sweep.Outcome) (sweep.Outcome, error) {
	select {
	case <-time.After(modelTime):
		return outcome, nil
	case <-ctx.Done():
		return sweep.Kept, ctx.Err()
	}
}

// manySessions is 100,000 in make soak, which runs without the race detector.
var manySessions = flag.Int("many-sessions", 20_000, "sessions of TestManySessions")

// TestManySessions has many sessions due at once, with a model that takes 5 s. One in 50 always fails, one in 100 is of
// a user who is half erased, and one in 1,000 panics. The schedule starts a sweep every minute, and deletions are due,
// too. Each session is worked on once, nothing waits for what fails, and each invocation that has work does at least 20
// a second.
func TestManySessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sessions := *manySessions
		s := newStore()
		s.latency = 10 * time.Millisecond
		began := time.Now()
		for i := range sessions {
			user := conversation.UserID(fmt.Sprint("u", i/3))
			s.add(fmt.Sprint("s", i), user, sweep.Shard(i%sweep.Sessions.Count), began.Add(-time.Hour+time.Duration(i)))
		}
		for i := range 400 {
			s.add(fmt.Sprint("d", i), "u0", sweep.Deletions.First+sweep.Shard(i%sweep.Deletions.Count), began)
		}
		var mu sync.Mutex
		visits, last := map[string]int{}, map[byte]time.Duration{}
		l := newLambda(t, s, func(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
			mu.Lock()
			visits[c.ID]++
			last[c.ID[0]] = time.Since(began)
			mu.Unlock()
			var n int
			_, _ = fmt.Sscanf(c.ID, "s%d", &n)
			switch {
			case c.ID[0] == 'd' || n%100 == 7:
				return sweep.Removed, nil
			case n%50 == 3:
				if _, err := work(ctx, sweep.Kept); err != nil {
					return sweep.Kept, err
				}
				return sweep.Kept, errDown
			case n%1000 == 11:
				panic("nil map")
			}
			return work(ctx, sweep.Removed)
		})
		done := make(chan struct{})
		go l.schedule(done)
		failing := sessions/50 + sessions/1000
		for s.due() > failing {
			time.Sleep(time.Second)
		}
		close(done)
		took := time.Since(began)
		l.running.Wait()
		checkVisits(t, visits, sessions)
		checkRates(t, l)
		if took > 6*time.Minute || last['d'] > time.Minute {
			t.Errorf("the sessions took %v, the deletions %v", took, last['d'])
		}
		// One for each shard works. Each minute others begin and end at once, because they find the leases taken.
		if most := 2*len(sweep.AllShards()) + 1; l.mostActive > most {
			t.Errorf("%d invocations at once, want at most %d", l.mostActive, most)
		}
		t.Logf("%v for all, %d invocations, at most %d at once, %d reads of the index", took, len(l.invocations),
			l.mostActive, s.lists)
	})
}

// checkVisits checks that every session was visited, and those that do not fail once.
func checkVisits(t *testing.T, visits map[string]int, sessions int) {
	t.Helper()
	for i := range sessions {
		n, fails := visits[fmt.Sprint("s", i)], i%50 == 3 || i%1000 == 11
		if n == 0 || n > 1 && !fails {
			t.Fatalf("session %d was visited %d times", i, n)
		}
	}
}

// checkRates checks how many visits each invocation made that had much to do.
func checkRates(t *testing.T, l *lambda) {
	t.Helper()
	busy := 0
	for _, i := range l.invocations {
		if i.err != nil {
			t.Errorf("%+v: %v", i.task, i.err)
		}
		if !i.swept.Left && i.swept.Visited < 1000 {
			continue
		}
		busy++
		if rate := float64(i.swept.Visited) / i.took.Seconds(); rate < 20 {
			t.Errorf("%+v made %d visits in %v, %.1f a second", i.task, i.swept.Visited, i.took, rate)
		}
	}
	if busy < sweep.Sessions.Count {
		t.Errorf("%d invocations had much to do, want one for each shard at least", busy)
	}
}

// TestAUserDoesNotDelayAnother has 2,500 older sessions of one user, or of ten, before one of another.
func TestAUserDoesNotDelayAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ shards, users int }{
		"one shard": {1, 1}, "all shards": {sweep.Sessions.Count, 1}, "many users": {1, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				began := time.Now()
				for i := range 2500 {
					user := conversation.UserID(fmt.Sprint("ann", i%c.users))
					s.add(fmt.Sprint("a", i), user, sweep.Shard(i%c.shards), began.Add(-time.Hour))
				}
				s.add("b", "bob", 0, began)
				var waited time.Duration
				l := newLambda(t, s, func(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
					if c.ID == "b" {
						waited = time.Since(began)
					}
					return work(ctx, sweep.Removed)
				})
				l.invoke(sweep.Task{})
				l.running.Wait()
				if s.due() > 0 || waited > modelTime {
					t.Errorf("the other user waited for %v, %d are due", waited, s.due())
				}
			})
		})
	}
}

// TestANewSessionIsDealtAtOnce has a session of another user fall due while a worker has thousands of one user's left.
func TestANewSessionIsDealtAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		began := time.Now()
		for i := range 5000 {
			s.add(fmt.Sprint("a", i), "ann", 0, began.Add(-time.Hour))
		}
		s.add("b", "bob", 0, began.Add(30*time.Second))
		var at time.Time
		l := newLambda(t, s, func(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
			if c.ID == "b" {
				at = time.Now()
			}
			return work(ctx, sweep.Removed)
		})
		l.invoke(sweep.Task{Shards: []sweep.Shard{0}})
		if waited := at.Sub(began.Add(30 * time.Second)); waited < 0 || waited > 2*modelTime {
			t.Errorf("the other user waited for %v", waited)
		}
		l.running.Wait()
	})
}

// TestOverlappingWorkers has several workers of the same shards at once, without leases, and reads of the index that
// repeat what is claimed. No record is worked on twice.
func TestOverlappingWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.latency = time.Millisecond
		for i := range 3000 {
			s.add(fmt.Sprint("s", i), conversation.UserID(fmt.Sprint("u", i%40)), sweep.Shard(i%4), time.Now())
		}
		var mu sync.Mutex
		visits := map[string]int{}
		l := newLambda(t, unleased{s}, func(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
			mu.Lock()
			visits[c.ID]++
			mu.Unlock()
			return work(ctx, sweep.Removed)
		})
		for range 4 {
			l.start(sweep.Task{Shards: []sweep.Shard{0, 1, 2, 3}})
		}
		l.running.Wait()
		for id, n := range visits {
			if n != 1 {
				t.Errorf("%s was visited %d times", id, n)
			}
		}
		if len(visits) != 3000 || s.due() != 0 {
			t.Errorf("%d visited, %d due", len(visits), s.due())
		}
	})
}

// unleased is a store whose leases keep nobody out.
type unleased struct{ *store }

func (unleased) Lease(context.Context, sweep.Shard, string, time.Time) (bool, error) {
	return true, nil
}

// TestWaitsGrow has a record that fails in each way, and another of the same user that does not. The waits double up to
// a day, and start again after a success.
func TestWaitsGrow(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() (sweep.Outcome, error){
		"error": func() (sweep.Outcome, error) { return sweep.Kept, errDown },
		"panic": func() (sweep.Outcome, error) { panic("nil map") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				s.add("bad", "ann", 3, time.Now())
				s.add("good", "ann", 3, time.Now())
				hasFailed := true
				l := newLambda(t, s, func(_ context.Context, c sweep.Claim) (sweep.Outcome, error) {
					if c.ID == "bad" && hasFailed {
						return fail()
					}
					if c.ID == "bad" {
						return sweep.Again(time.Now().Add(time.Hour)), nil
					}
					return sweep.Removed, nil
				})
				var waits []time.Duration
				began := time.Now()
				for i := range 11 {
					hasFailed = i != 9
					if i == 0 {
						l.invoke(sweep.Task{})
					} else {
						time.Sleep(time.Until(s.records["bad"].dueAt))
						l.invoke(sweep.Task{})
					}
					waits = append(waits, time.Until(s.records["bad"].dueAt))
					last := l.invocations[len(l.invocations)-1].swept
					if due := time.Since(began); i < 10 && last.Oldest != due || i == 10 && last.Oldest != 0 || last.Behind != 0 {
						t.Errorf("attempt %d: the oldest waits for %v, %v behind, want %v and none", i+1, last.Oldest, last.Behind, due)
					}
				}
				m, d := time.Minute, 24*time.Hour
				want := []time.Duration{15 * m, 30 * m, 60 * m, 120 * m, 240 * m, 480 * m, 960 * m, d, d, 60 * m, 15 * m}
				if diff := cmp.Diff(want, waits); diff != "" {
					t.Errorf("waits (-want +got)\n%s", diff)
				}
				if s.due() != 1 || l.reported != 10 {
					t.Errorf("%d due, %d failures reported", s.due(), l.reported)
				}
			})
		})
	}
}

// TestAServiceThatIsDown has all records fail because a service does. Their waits do not grow, so that they are done
// soon when it is back. While the model may not be asked, only the work without it goes on.
func TestAServiceThatIsDown(t *testing.T) {
	t.Parallel()
	for _, code := range []fault.Code{fault.Unavailable, fault.RateLimited} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				s.add("s", "ann", 3, time.Now())
				isDown := true
				l := newLambda(t, s, func(context.Context, sweep.Claim) (sweep.Outcome, error) {
					if isDown {
						return sweep.Kept, errors.Join(errDown, fault.New(code, ""))
					}
					return sweep.Removed, nil
				})
				for range 100 {
					l.invoke(sweep.Task{})
					if wait := time.Until(s.records["s"].dueAt); wait != firstWait {
						t.Fatalf("it waits for %v, want %v", wait, firstWait)
					}
					time.Sleep(firstWait)
				}
				isDown = false
				if l.invoke(sweep.Task{}); s.due() != 0 {
					t.Error("it is still due")
				}
			})
		})
	}
}

// TestVisitsAtOnce bounds the visits of one queue, and then stops them.
func TestVisitsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		for i := range 40 {
			s.add(fmt.Sprint("s", i), conversation.UserID(fmt.Sprint("u", i)), 3, time.Now())
		}
		var mu sync.Mutex
		most, active, atOnce := 0, 0, 4
		l := newLambda(t, s, func(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
			mu.Lock()
			active++
			most = max(most, active)
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				active--
			}()
			return work(ctx, sweep.Removed)
		})
		l.service.Works[0].AtOnce = func() int { return atOnce }
		if l.invoke(sweep.Task{}); most != 4 || s.due() != 0 {
			t.Errorf("%d visits at once, %d left", most, s.due())
		}
		atOnce = 0
		s.add("s", "ann", 3, time.Now())
		s.add("d", "ann", sweep.Deletions.First, time.Now())
		if got := l.invoke(sweep.Task{}); got.swept.Visited != 1 || s.due() != 1 || s.records["s"].failures != 0 {
			t.Errorf("without room: %+v, %d due", got.swept, s.due())
		}
		atOnce = 1
		if l.invoke(sweep.Task{}); s.due() != 0 {
			t.Error("with room again: it is still due")
		}
	})
}

// TestAWorkerThatDies has a record that ends every invocation that works on it, as a process without memory does. Its
// claim lapses each time later, so that it cannot end invocation after invocation.
func TestAWorkerThatDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.add("fatal", "ann", 3, time.Now())
		l := newLambda(t, s, func(ctx context.Context, _ sweep.Claim) (sweep.Outcome, error) {
			s.setDown(errDown) // nothing reaches the store any more
			return sweep.Kept, errDown
		})
		var lapses []time.Duration
		for range 6 {
			began := time.Now()
			l.invoke(sweep.Task{Shards: []sweep.Shard{3}})
			s.setDown(nil)
			lapses = append(lapses, s.records["fatal"].dueAt.Sub(began))
			time.Sleep(time.Until(s.records["fatal"].dueAt))
		}
		m := time.Minute
		want := []time.Duration{3 * m, 3 * m, 60 * m, 120 * m, 240 * m, 480 * m}
		if diff := cmp.Diff(want, lapses); diff != "" {
			t.Errorf("claims lapse after (-want +got)\n%s", diff)
		}
	})
}

// TestHandingOver has more work in one shard than an invocation can do. The next invocation begins when the last one
// has ended, and after a number of them the schedule has to go on.
func TestHandingOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		for i := range 14_000 {
			s.add(fmt.Sprint("s", i), conversation.UserID(fmt.Sprint("u", i)), 5, time.Now())
		}
		l := newLambda(t, s, func(ctx context.Context, _ sweep.Claim) (sweep.Outcome, error) {
			return work(ctx, sweep.Removed)
		})
		l.timeout = time.Minute
		l.invoke(sweep.Task{Shards: []sweep.Shard{5}})
		l.running.Wait()
		var rounds []int
		for _, i := range l.invocations {
			rounds = append(rounds, i.task.Round)
			if i.took > l.timeout || !i.swept.Left || i.err != nil {
				t.Errorf("%+v", i)
			}
		}
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}; !slices.Equal(rounds, want) {
			t.Errorf("rounds %v, want %v", rounds, want)
		}
		if l.mostActive > 2 || len(s.leases) != 0 {
			t.Errorf("%d invocations at once, leases %v", l.mostActive, s.leases)
		}
	})
}

// TestVisitsThatAreCutOff has visits that take longer than the invocation. Their claims end with it, and they count as
// failures.
func TestVisitsThatAreCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.add("slow", "ann", 0, time.Now())
		l := newLambda(t, s, func(ctx context.Context, _ sweep.Claim) (sweep.Outcome, error) {
			<-ctx.Done()
			return sweep.Kept, ctx.Err()
		})
		out := l.invoke(sweep.Task{Shards: []sweep.Shard{0}})
		r := s.records["slow"]
		if out.took >= l.timeout || out.swept.Failed != 1 || r.claimed || time.Until(r.dueAt) != firstWait {
			t.Errorf("%+v, and the record is %+v", out, r)
		}
		l.running.Wait()
	})
}

// TestLittleIsDue checks that one invocation does little work by itself, that a shard that somebody else works on is
// left to them, and what an invocation says of what it did.
func TestLittleIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		now := time.Now()
		for i, shard := range []sweep.Shard{0, 7, 16, 20} {
			s.add(fmt.Sprint("s", i), "ann", shard, now.Add(-time.Duration(i)*time.Minute))
		}
		s.leases[7] = lease{"other", now.Add(time.Minute)}
		l := newLambda(t, s, func(context.Context, sweep.Claim) (sweep.Outcome, error) { return sweep.Removed, nil })
		want := sweep.Swept{Visited: 3, Behind: 3 * time.Minute, Oldest: 3 * time.Minute}
		if got := l.invoke(sweep.Task{}); got.swept != want || got.err != nil {
			t.Errorf("%+v, want %+v", got, want)
		}
		time.Sleep(2 * time.Minute)
		want = sweep.Swept{Visited: 1, Behind: 3 * time.Minute, Oldest: 3 * time.Minute}
		if got := l.invoke(sweep.Task{}); got.swept != want || s.due() != 0 {
			t.Errorf("when the lease has expired: %+v, want %+v", got, want)
		}
		if got := l.invoke(sweep.Task{}); got.swept != (sweep.Swept{}) || got.err != nil {
			t.Errorf("nothing is due: %+v", got)
		}
		s.setDown(errDown)
		const all = "look at the shards: 29 of 29 failed, the first: down"
		if got := l.invoke(sweep.Task{}); !errors.Is(got.err, errDown) || got.err.Error() != all {
			t.Errorf("an index that cannot be read: %v, want one line: %s", got.err, all)
		}
	})
}

// TestShardOf checks that a name is always in the same shard, that of its FNV-1a hash, and in one of its queue.
func TestShardOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]sweep.Shard{"user#ann#conversation#s": 10, "user#bob#workout#1": 6} {
		if got := sweep.Sessions.ShardOf(name); got != want {
			t.Errorf("%s is in shard %d, want %d", name, got, want)
		}
		for _, q := range sweep.Queues() {
			if got := q.ShardOf(name); !q.Has(got) {
				t.Errorf("%s of %s is in shard %d", name, q.Name, got)
			}
		}
	}
}
