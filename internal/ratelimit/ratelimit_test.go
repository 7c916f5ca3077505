package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/ratelimit"
	"github.com/throughline/throughline/internal/testing/check"
)

// record is the counts that all instances share.
type record struct {
	mu     sync.Mutex
	counts map[string]int
	calls  int
	err    error
	// hangs has the record answer never.
	hangs bool
	// lateFor is a minute whose counts are answered in the middle of the next one.
	lateFor time.Time
}

func (r *record) CountRequests(ctx context.Context, user conversation.UserID, minute time.Time, n int) (int, error) {
	if r.hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if minute.Equal(r.lateFor) {
		time.Sleep(time.Until(minute.Add(90 * time.Second)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if r.err != nil {
		return 0, r.err
	}
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	k := fmt.Sprint(user, minute)
	r.counts[k] += n
	return r.counts[k], nil
}

// instances are limiters with one record.
type instances struct {
	*record
	limiters []*ratelimit.Limiter
	reported int
}

func newInstances(n, perMinute int) *instances {
	in := &instances{record: &record{}}
	for range n {
		in.limiters = append(in.limiters, ratelimit.New(ratelimit.Config{
			PerMinute: perMinute, Counter: in.record, Now: time.Now,
			Report: func(context.Context, error) { in.reported++ },
		}))
	}
	return in
}

// ask makes n requests of a user, one at each instance in turn, and returns how many are allowed.
func (in *instances) ask(t *testing.T, user conversation.UserID, n, weight int) (allowed int) {
	t.Helper()
	for i := range n {
		err := in.limiters[i%len(in.limiters)].Allow(t.Context(), user, weight)
		rest := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute))
		switch {
		case err == nil:
			allowed++
		case !fault.Is(err, fault.RateLimited) || fault.From(err).RetryAfter != max(rest, time.Second):
			t.Fatalf("request %d: %v, retry after %v, want %v", i, err, fault.From(err).RetryAfter, rest)
		}
	}
	return allowed
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		instances, limit, requests, weight int
		allowed, most, calls               int
	}{
		"an ordinary user":          {1, 600, 29, 1, 29, 29, 0},
		"the first added":           {1, 600, 30, 1, 30, 30, 1},
		"one instance":              {1, 600, 2000, 1, 600, 600, 20},
		"four instances":            {4, 600, 2000, 1, 600, 600 + 3*29, 24},
		"no limit":                  {1, 0, 2000, 1, 2000, 2000, 0},
		"a limit of one":            {2, 1, 5, 1, 1, 1, 2},
		"weights":                   {1, 600, 2000, 5, 120, 120, 20},
		"more than the limit":       {1, 600, 10, 1000, 1, 1, 1},
		"ordinary, four instances ": {4, 600, 4 * 29, 1, 4 * 29, 4 * 29, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := newInstances(tc.instances, tc.limit)
				if got := in.ask(t, "ann", tc.requests, tc.weight); got < tc.allowed || got > tc.most {
					t.Errorf("%d of %d requests are allowed, want %d to %d", got, tc.requests, tc.allowed, tc.most)
				}
				if in.calls > tc.calls {
					t.Errorf("%d calls, want %d at most", in.calls, tc.calls)
				}
				if got := in.ask(t, "bob", 1, 1); got != 1 {
					t.Error("another user is refused")
				}
				time.Sleep(time.Minute)
				if got := in.ask(t, "ann", 1, 1); got != 1 {
					t.Error("the next minute: the user is refused")
				}
			})
		})
	}
}

// TestUsersAreNotLimitedByAFailingRecord has a record that fails, and one that does not answer.
func TestUsersAreNotLimitedByAFailingRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newInstances(1, 600)
		in.err = errors.New("down")
		if got := in.ask(t, "ann", 1200, 1); got != 1200 || in.reported != 40 {
			t.Errorf("%d of 1200 requests are allowed, %d failures reported, want 40", got, in.reported)
		}
		in.hangs = true
		began := time.Now()
		if got := in.ask(t, "ann", 30, 1); got != 30 || in.reported != 41 {
			t.Errorf("%d of 30 requests are allowed, %d failures reported, want 41", got, in.reported)
		}
		check.Equal(t, 300*time.Millisecond, time.Since(began), "waited for")
	})
}

// TestManyUsers checks that an instance forgets counts before it has those of too many users.
func TestManyUsers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for others, calls := range map[int]int{100: 1, 10_000: 0} {
			in := newInstances(1, 40) // adds two at once
			in.ask(t, "ann", 1, 1)
			for i := range others {
				in.ask(t, conversation.UserID(fmt.Sprint(i)), 1, 1)
			}
			in.ask(t, "ann", 1, 1)
			if in.calls != calls {
				t.Errorf("%d calls after %d other users, want %d", in.calls, others, calls)
			}
		}
	})
}

// TestALateCount adds a count to the record while the next minute has begun. It counts for its own minute only.
func TestALateCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newInstances(1, 40)
		in.lateFor = time.Now().Truncate(time.Minute)
		var late sync.WaitGroup
		late.Go(func() { in.ask(t, "ann", 1, 40) })
		time.Sleep(time.Until(in.lateFor.Add(time.Minute)))
		allowed := in.ask(t, "ann", 1, 1)
		late.Wait()
		if allowed += in.ask(t, "ann", 39, 1); allowed != 40 {
			t.Errorf("%d requests of the next minute are allowed, want 40", allowed)
		}
	})
}

func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newInstances(4, 600)
		var allowed atomic.Int64
		var requests sync.WaitGroup
		for i := range 16 {
			requests.Go(func() {
				for range 200 {
					if in.limiters[i%4].Allow(t.Context(), "ann", 1) == nil {
						allowed.Add(1)
					}
				}
			})
		}
		requests.Wait()
		// Each of four requests of an instance may be adding when the others count.
		if n := allowed.Load(); n < 600 || n > 600+16*30 {
			t.Errorf("%d requests are allowed, want 600 to %d", n, 600+16*30)
		}
	})
}
