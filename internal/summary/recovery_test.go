package summary_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/check"
)

var errDown = fault.New(fault.Unavailable, "down")

// TestLeavingIsNoticedAgainOnRedelivery has the table fail while the session that the user left is summarised.
func TestLeavingIsNoticedAgainOnRedelivery(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.service()
	consume(t, s, f.say("s", "hi"))
	left := f.say("t", "hello")
	f.failRead = errDown
	if done, err := s.Consume(t.Context(), []conversation.Change{left}); done != 0 || err == nil {
		t.Fatalf("%d done, %v", done, err)
	}
	f.failRead = nil
	consume(t, s, left)
	if len(f.saved) != 1 || f.saved[0].SessionID != "s" {
		t.Errorf("after redelivery the summaries are %+v", f.saved)
	}
}

// TestLeavingSeenByDifferentInstances has a user go to and fro between two sessions, whose records reach an instance
// each. Every change is noticed within the same record, and messages within one session cost no read of the timeline.
func TestLeavingSeenByDifferentInstances(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		instances := map[string]*summary.Service{"s": f.service(), "t": f.service()}
		say := func(id, text string) {
			time.Sleep(5 * time.Second)
			consume(t, instances[id], f.say(id, text))
		}
		say("s", "hi")
		for i := range 3 {
			say("t", fmt.Sprint("question ", i))
			if got := f.session("s"); got.Summary == nil || got.Summary.CoveredThrough != got.LastSeq {
				t.Errorf("leaving %d from s was not noticed: %+v", i, got.Summary)
			}
			looks := f.looks
			if say("t", "one more"); f.looks != looks {
				t.Error("a second message in the same session read the timeline")
			}
			say("s", fmt.Sprint("answer ", i))
			if got := f.session("t"); got.Summary == nil || got.Summary.CoveredThrough != got.LastSeq {
				t.Errorf("leaving %d from t was not noticed: %+v", i, got.Summary)
			}
		}
	})
}

// TestLeavingWithinABatch has a user leave two sessions within one batch, whose records are in any order.
func TestLeavingWithinABatch(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s, left, again := f.say("s", "hi"), f.say("t", "hello"), f.say("u", "good day")
	consume(t, f.service(), again, s, left)
	for id, want := range map[string]bool{"s": true, "t": true, "u": false} {
		check.Equal(t, want, f.session(id).Summary != nil, "session %s has a summary", id)
	}
}

// TestALateRecordPaysForNoSummary delivers the records of leaving and of many messages again when their sessions have
// grown.
func TestALateRecordPaysForNoSummary(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	records := []conversation.Change{f.say("s", "a", "b", "c", "d"), f.say("t", "hello")}
	consume(t, f.service(), records...)
	records = append(records, f.leave("t"))
	consume(t, f.service(), records[2])
	paid := f.calls
	f.say("s", "e")
	f.say("t", "hello again")
	for _, late := range records {
		consume(t, f.service(), late)
	}
	if f.calls != paid {
		t.Errorf("%d model calls for late records, want none", f.calls-paid)
	}
}

// TestLeavingFindsTheSessionThatWasLeft has 30 newer sessions without messages, and more messages in the new session
// than one read returns.
func TestLeavingFindsTheSessionThatWasLeft(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.say("left", "hi")
	for i := range 30 {
		f.say(fmt.Sprint("silent", i))
	}
	consume(t, f.service(), f.say("here", slices.Repeat([]string{"hello"}, 120)...))
	if got := f.session("left"); got.Summary == nil {
		t.Error("the session that was left has no summary")
	}
}

// TestASummaryThatIsNotIndexedStaysDue has an index that is down while the sweep summarises.
func TestASummaryThatIsNotIndexedStaysDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		s := f.service()
		consume(t, s, f.say("s", "a"))
		f.failIx = errDown
		time.Sleep(15 * time.Minute)
		sweepDue(t, f, s, swept{Visited: 1, Failed: 1})
		if got := f.session("s"); got.Summarized.Seq != 1 || f.session("s").DueAt.IsZero() {
			t.Fatalf("the session is %+v, due at %v", got, f.session("s").DueAt)
		}
		f.failIx = nil
		time.Sleep(15 * time.Minute)
		sweepDue(t, f, s, swept{Visited: 1, Done: 1})
		if f.indexed["program_designer_summary#s"].Text == "" || f.calls != 1 {
			t.Errorf("indexed %+v after %d calls", f.indexed, f.calls)
		}
	})
}

// TestAnAnswerIsStoredWithoutTheFallback has the table refuse the fallback summary while the model works.
func TestAnAnswerIsStoredWithoutTheFallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.delay = 10 * time.Second
		f.failSave = func(s summary.Summary) error {
			if s.Kind == conversation.Extractive {
				return errDown
			}
			return nil
		}
		consume(t, f.service(), f.say("s", "a", "b", "c", "d"))
		if got := f.session("s"); got.Summary == nil || got.Summary.Kind != conversation.ByModel || f.calls != 1 {
			t.Errorf("the session is %+v after %d calls", got, f.calls)
		}
		f.failModel = errors.New("overloaded")
		change := f.say("s", "e", "f", "g", "h")
		if done, err := f.service().Consume(t.Context(), []conversation.Change{change}); done != 0 || err == nil {
			t.Errorf("with neither a summary nor a fallback %d changes are done, %v", done, err)
		}
	})
}

// TestALostTriggerIsMadeUpAtOnce has the sweep find sessions whose trigger was lost.
func TestALostTriggerIsMadeUpAtOnce(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(f *fake){
		"left": func(f *fake) {
			f.say("s", "a")
			f.leave("s")
		},
		"completed": func(f *fake) {
			f.say("s", "a")
			f.complete("s")
		},
		"many messages": func(f *fake) { f.say("s", "a", "b", "c", "d") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			lose(f)
			f.fallDue("ann", "s", time.Now().Add(-time.Second))
			sweepDue(t, f, f.service(), swept{Visited: 1, Done: 1})
			if f.calls != 1 {
				t.Errorf("%d model calls, want 1", f.calls)
			}
		})
	}
}

// TestABacklogTakesSeveralCalls checks the limits of what an event and a visit of the sweep summarise of an imported
// history. The sweep goes on at once.
func TestABacklogTakesSeveralCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		s := f.service()
		texts := make([]string, 1500)
		for i := range texts {
			texts[i] = fmt.Sprint("message ", i)
		}
		consume(t, s, f.say("s", texts...))
		if got := f.session("s"); got.Summarized.Seq != 200 || f.calls != 1 {
			t.Fatalf("covered %d in %d calls, want 200 in 1", got.Summarized.Seq, f.calls)
		}
		f.fallDue("ann", "s", time.Now().Add(-time.Second))
		sweepDue(t, f, s, swept{Visited: 2, Done: 1}) // of five calls at most
		if got := f.session("s"); got.Summarized.Seq != 1500 || f.calls != 8 {
			t.Errorf("covered %d after %d calls, want 1500 after 8", got.Summarized.Seq, f.calls)
		}
	})
}

// TestModelInput checks what the vendor gets: times, one line for each message, and no name of the user.
func TestModelInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		consume(t, f.service(), f.say("s", "tomorrow\x00\u0085 I rest", "b", "c", "d"))
		check.Contains(t, f.prompts[0], "[2000-01-01 00:00 Saturday] user: tomorrow I rest\n", "the model reads")
		if len(f.users[0]) != 32 || strings.Contains(f.users[0], "ann") {
			t.Errorf("the user is named %q", f.users[0])
		}
	})
}

// TestAPanicStopsOneSessionOnly has storing a summary panic. The panic reaches the handler of the stream in its own
// goroutine, and the sweep goes on with the other sessions.
func TestAPanicStopsOneSessionOnly(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.service()
	f.failSave = func(sum summary.Summary) error {
		if sum.SessionID == "s" {
			panic("nil map")
		}
		return nil
	}
	change := f.say("s", "a", "b", "c", "d")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach the caller")
			}
		}()
		_, _ = s.Consume(t.Context(), []conversation.Change{change})
	}()
	f.say("t", "a", "b", "c", "d")
	f.allFallDue()
	sweepDue(t, f, s, swept{Visited: 2, Done: 1, Failed: 1})
	if f.session("t").Summary == nil {
		t.Error("the other session was not summarised")
	}
}
