package sweep_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/sweep"
)

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
					s.add(fmt.Sprintf("a%04d", i), user, sweep.Shard(i%c.shards), began.Add(-time.Hour))
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
			s.add(fmt.Sprintf("a%04d", i), "ann", 0, began.Add(-time.Hour))
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
			s.add(fmt.Sprintf("s%04d", i), conversation.UserID(fmt.Sprint("u", i%40)), sweep.Shard(i%4), time.Now())
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
