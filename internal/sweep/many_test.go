package sweep_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/sweep"
)

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
