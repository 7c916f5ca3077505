package sweep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

var errDown = errors.New("down")

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
				check.Same(t, want, waits, "waits")
				if s.due() != 1 || l.reported != 10 {
					t.Errorf("%d due, %d failures reported", s.due(), l.reported)
				}
			})
		})
	}
}

// TestAServiceThatIsDown has all records fail because a service does, or its key. Their waits do not grow, so that they
// are done soon when it is back. While the model may not be asked, only the work without it goes on.
func TestAServiceThatIsDown(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"down": fault.New(fault.Unavailable, ""), "limited": fault.New(fault.RateLimited, ""),
		"wrong key": fault.Wrap(fault.Internal, "upsert vectors", fault.ErrSetup),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				s.add("s", "ann", 3, time.Now())
				isDown := true
				l := newLambda(t, s, func(context.Context, sweep.Claim) (sweep.Outcome, error) {
					if isDown {
						return sweep.Kept, errors.Join(errDown, failure)
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
		check.Same(t, want, lapses, "claims lapse after")
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

// TestStages has visits that say how their stages went. A visit that says nothing is one of its queue, and so is one
// that succeeds. What is gone is no failure, and a success outside of visits counts as one of a visit.
func TestStages(t *testing.T) {
	t.Parallel()
	s := newStore()
	began := time.Now().Add(-time.Hour)
	for id, shard := range map[string]sweep.Shard{"a": 3, "b": 4, "c": 5, "d": 6} {
		s.add(id, "ann", shard, began)
	}
	var service *sweep.Service
	visit := visitor(func(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
		switch c.ID {
		case "a":
			sweep.Note(ctx, sweep.Summarizing, nil)
			sweep.Note(ctx, sweep.Extracting, errDown)
			return sweep.Kept, errDown
		case "b":
			sweep.Note(ctx, sweep.Extracting, errDown)
			sweep.Note(ctx, sweep.Indexing, fault.Missing("session"))
			return sweep.Kept, errDown
		case "c":
			panic("nil map")
		case "e":
			sweep.Note(ctx, sweep.Summarizing, nil)
			return sweep.Removed, nil
		}
		sweep.Note(context.Background(), sweep.Indexing, errDown)
		return sweep.Kept, errDown
	})
	service = sweep.New(sweep.Deps{
		Store: s, Works: []sweep.Work{{Queue: sweep.Sessions, Visitor: visit, FirstWait: time.Hour}}, Now: time.Now,
		Random: func() float64 { return 0 }, NewOwner: func() string { return "o" },
		Report: func(context.Context, string, error) {},
	})
	sweepOnce := func() map[string]sweep.StageVisits {
		s.visits = nil
		check.Got(service.Sweep(t.Context(), sweep.Task{}))(t)
		got := map[string]sweep.StageVisits{}
		for _, v := range s.visits {
			got[v.Stage] = v
		}
		return got
	}
	want := map[string]sweep.StageVisits{
		sweep.Summarizing: {Stage: sweep.Summarizing, Succeeded: true},
		sweep.Extracting:  {Stage: sweep.Extracting, Failed: 2, Since: began},
		"sessions":        {Stage: "sessions", Failed: 2, Since: began},
	}
	check.Same(t, want, sweepOnce(), "the result")
	if got := sweepOnce(); len(got) != 0 {
		t.Errorf("nothing is due, and %v is stored", got)
	}
	watched := service.Watch(t.Context())
	sweep.Note(watched, sweep.Extracting, errDown)
	sweep.Note(watched, sweep.Indexing, nil)
	want = map[string]sweep.StageVisits{sweep.Indexing: {Stage: sweep.Indexing, Succeeded: true}}
	check.Same(t, want, sweepOnce(), "outside of visits")
	s.add("e", "ann", 7, began)
	want = map[string]sweep.StageVisits{
		sweep.Summarizing: {Stage: sweep.Summarizing, Succeeded: true}, "sessions": {Stage: "sessions", Succeeded: true},
	}
	check.Same(t, want, sweepOnce(), "after a visit that succeeded")
}
