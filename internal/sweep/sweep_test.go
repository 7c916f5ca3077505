package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

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

// TestHandingOver has more work in one shard than an invocation can do. The next invocation begins when the last one
// has ended, and after a number of them the schedule has to go on.
func TestHandingOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		for i := range 14_000 {
			s.add(fmt.Sprintf("s%05d", i), conversation.UserID(fmt.Sprint("u", i)), 5, time.Now())
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
		const all = "look at the shards: 33 of 33 failed, the first: down"
		if got := l.invoke(sweep.Task{}); !errors.Is(got.err, errDown) || got.err.Error() != all {
			t.Errorf("an index that cannot be read: %v, want one line: %s", got.err, all)
		}
	})
}

// TestShardOf checks that a name is always in the same shard, that of its FNV-1a hash, and in one of its queue.
func TestShardOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]sweep.Shard{"user#ann#conversation#s": 10, "user#bob#workout#1": 6} {
		check.Equal(t, want, sweep.Sessions.ShardOf(name), "%s is in shard", name)
		for _, q := range sweep.Queues() {
			if got := q.ShardOf(name); !q.Has(got) {
				t.Errorf("%s of %s is in shard %d", name, q.Name, got)
			}
		}
	}
}
