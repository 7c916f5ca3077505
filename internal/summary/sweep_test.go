package summary_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
)

// swept is what one sweep has to do: how many visits it makes, how many sessions leave the due index, and how many
// visits fail.
type swept struct{ Visited, Done, Failed int }

// tester is what a sweep needs of a test, or of a check of a property.
type tester interface {
	Helper()
	Context() context.Context
	Error(args ...any)
	Fatalf(format string, args ...any)
}

func sweepDue(t tester, f *fake, s *summary.Service, want swept) {
	t.Helper()
	before := len(f.due())
	got := f.sweep(t, s)
	if (swept{got.Visited, before - len(f.due()), got.Failed}) != want {
		t.Fatalf("swept %+v, %d left the index, want %+v", got, before-len(f.due()), want)
	}
}

// sweep sweeps until nothing is due.
func (f *fake) sweep(t tester, s *summary.Service) sweep.Swept {
	t.Helper()
	sweeper := sweep.New(sweep.Deps{
		Store: dueStore{f.stores.Due, f}, Works: []sweep.Work{{Queue: sweep.Sessions, Visitor: s, FirstWait: s.Idle}},
		Invoke: func(context.Context, sweep.Task) error { return errors.New("nobody takes over") },
		Now:    time.Now, Random: s.Random, NewOwner: func() string { return "o" }, Report: s.Report,
	})
	got, err := sweeper.Sweep(t.Context(), sweep.Task{})
	if err != nil {
		t.Error(err)
	}
	return got
}

// TestTwoWorkersOfOneSession delivers the change that completes a session to two instances, while two sweeps visit the
// session. The model is asked once.
func TestTwoWorkersOfOneSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.delay = time.Second
		f.say("s", "a")
		f.fallDue("ann", "s", time.Now())
		completed := f.complete("s")
		var workers sync.WaitGroup
		for range 2 {
			workers.Go(func() { consume(t, f.service(), completed) })
			workers.Go(func() { f.sweep(t, f.service()) })
		}
		workers.Wait()
		if f.calls != 1 || f.session("s").Summary.Kind != conversation.ByModel {
			t.Errorf("%d model calls, and the session is %+v", f.calls, f.session("s"))
		}
	})
}

// TestSessionsThatAreGoneLeaveTheIndex has a session that is due whose user is being erased.
func TestSessionsThatAreGoneLeaveTheIndex(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.say("s", "a")
	f.fallDue("ann", "s", time.Now())
	f.failRead = fault.Missing("session")
	sweepDue(t, f, f.service(), swept{Visited: 1, Done: 1})
	if f.calls != 0 {
		t.Errorf("%d model calls", f.calls)
	}
}

// TestAClaimIsNoTrigger delivers the change that a worker's claim makes in a session whose attributes have changed.
func TestAClaimIsNoTrigger(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.service()
	f.create("s", "program_designer", map[string]any{"programName": "Peak"})
	consume(t, s, f.say("s", "a", "b", "c", "d"))
	edited := f.set("s", map[string]any{"programName": "Base"})
	before := len(f.saved)
	claimed := edited
	claimed.Before = edited.After
	consume(t, s, claimed)
	if len(f.saved) != before {
		t.Errorf("the claim wrote %+v", f.saved[before:])
	}
	consume(t, s, edited)
	if len(f.saved) != before+1 {
		t.Errorf("the edit wrote %d summaries", len(f.saved)-before)
	}
}

// TestAnOutageMakesNoSessionWait has the model's service, or the index, fail for a day. The session is due as soon
// after the outage as after its first failure.
func TestAnOutageMakesNoSessionWait(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(f *fake, s *summary.Service){
		"the model's service": func(f *fake, s *summary.Service) {
			f.failModel, s.IsFailing = errors.New("down"), func() bool { return f.failModel != nil }
		},
		"the index": func(f *fake, _ *summary.Service) { f.failIx = fault.New(fault.Unavailable, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				s := f.service()
				breakIt(f, s)
				consume(t, s, f.say("s", "a", "b", "c", "d"))
				for range 96 {
					time.Sleep(s.Idle)
					if got := f.sweep(t, s); got.Visited != 1 {
						t.Fatalf("a sweep visits %d sessions", got.Visited)
					}
				}
				f.failModel, f.failIx = nil, nil
				time.Sleep(s.Idle)
				if got := f.sweep(t, s); got.Visited != 1 || len(f.due()) != 0 {
					t.Errorf("after the outage: %+v, due %v", got, f.due())
				}
			})
		})
	}
}

// TestTheSweepWaitsForQuiet sweeps a session in which the user still writes.
func TestTheSweepWaitsForQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		s := f.service()
		consume(t, s, f.say("s", "a"))
		time.Sleep(10 * time.Minute)
		consume(t, s, f.say("s", "b"))
		time.Sleep(5 * time.Minute)
		sweepDue(t, f, s, swept{Visited: 1})
		if f.calls != 0 {
			t.Error("a session that is not idle was summarised")
		}
		time.Sleep(10 * time.Minute)
		sweepDue(t, f, s, swept{Visited: 1, Done: 1})
		if f.calls != 1 {
			t.Errorf("%d model calls, want 1", f.calls)
		}
	})
}
