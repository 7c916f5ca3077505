package summary_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
)

var errDown = fault.New(fault.Unavailable, "down")

// TestAMoveIsSeenAgainWhenItsChangeComesAgain has the table fail while the session that the user left is summarised.
func TestAMoveIsSeenAgainWhenItsChangeComesAgain(t *testing.T) {
	w := newWorld()
	s := w.service()
	consume(t, s, w.say("s", "hi"))
	moved := w.say("t", "hello")
	w.failRead = errDown
	if done, err := s.Consume(t.Context(), []conversation.Change{moved}); done != 0 || err == nil {
		t.Fatalf("%d done, %v", done, err)
	}
	w.failRead = nil
	consume(t, s, moved)
	if len(w.saved) != 1 || w.saved[0].SessionID != "s" {
		t.Errorf("after redelivery the summaries are %+v", w.saved)
	}
}

// TestAnotherInstanceMayHaveSeenTheUser has the user appear in a second session at another instance, and come back.
func TestAnotherInstanceMayHaveSeenTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		here, there := w.service(), w.service()
		consume(t, here, w.say("s", "hi"))
		time.Sleep(time.Minute)
		consume(t, there, w.say("t", "hello"))
		time.Sleep(time.Minute)
		consume(t, here, w.say("s", "back again"))
		if got := w.sessions["t"]; got.Summary == nil {
			t.Error("the session at the other instance was not summarised")
		}
	})
}

// TestRetriesWaitLonger has a model that fails for days: the sweep asks less and less often, and the stand-in stays.
func TestRetriesWaitLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.service()
		w.failModel = errDown
		consume(t, s, w.say("s", "a", "b", "c", "d"))
		var waits []time.Duration
		for range 10 {
			time.Sleep(time.Until(w.due["s"]))
			sweep(t, s, summary.Swept{Looked: 1})
			waits = append(waits, time.Until(w.due["s"]))
		}
		m, d := time.Minute, 24*time.Hour
		want := []time.Duration{15 * m, 30 * m, 60 * m, 120 * m, 240 * m, 480 * m, 960 * m, d, d, d}
		if diff := cmp.Diff(want, waits); diff != "" {
			t.Errorf("waits (-want +got)\n%s", diff)
		}
		if got := w.sessions["s"].Summary; got == nil || got.Kind != conversation.Extractive || w.calls != 11 {
			t.Errorf("the summary is %+v after %d calls", got, w.calls)
		}
	})
}

// TestASummaryThatIsNotIndexedStaysDue has an index that is down while the sweep summarises.
func TestASummaryThatIsNotIndexedStaysDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.service()
		consume(t, s, w.say("s", "a"))
		w.failIx = errDown
		time.Sleep(15 * time.Minute)
		sweep(t, s, summary.Swept{Looked: 1, Failed: 1})
		if got := w.sessions["s"]; got.SummarizedSeq != 1 || w.due["s"].IsZero() {
			t.Fatalf("the session is %+v, due at %v", got, w.due["s"])
		}
		w.failIx = nil
		time.Sleep(15 * time.Minute)
		sweep(t, s, summary.Swept{Looked: 1, Settled: 1})
		if w.indexed["program_designer_summary#s"].Text == "" || w.calls != 1 {
			t.Errorf("indexed %+v after %d calls", w.indexed, w.calls)
		}
	})
}

// TestAModelsAnswerOutlivesAStandInThatWasNotStored has the table refuse the stand-in while the model is at work.
func TestAModelsAnswerOutlivesAStandInThatWasNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.delay = 10 * time.Second
		w.failSave = func(s summary.Summary) error {
			if s.Kind == conversation.Extractive {
				return errDown
			}
			return nil
		}
		consume(t, w.service(), w.say("s", "a", "b", "c", "d"))
		if got := w.sessions["s"]; got.Summary == nil || got.Summary.Kind != conversation.ByModel || w.calls != 1 {
			t.Errorf("the session is %+v after %d calls", got, w.calls)
		}
		w.failModel = errors.New("overloaded")
		change := w.say("s", "e", "f", "g", "h")
		if done, err := w.service().Consume(t.Context(), []conversation.Change{change}); done != 0 || err == nil {
			t.Errorf("with neither a summary nor a stand-in %d changes are done, %v", done, err)
		}
	})
}

// TestALostTriggerDoesNotWaitForQuiet has the sweep find sessions whose trigger was lost.
func TestALostTriggerDoesNotWaitForQuiet(t *testing.T) {
	for name, lose := range map[string]func(w *world){
		"left": func(w *world) {
			w.say("s", "a")
			w.alter("s", func(s *conversation.Session) { s.LeftAt = time.Now() })
		},
		"completed": func(w *world) {
			w.say("s", "a")
			w.alter("s", func(s *conversation.Session) { s.Status = conversation.Completed })
		},
		"many messages": func(w *world) { w.say("s", "a", "b", "c", "d") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			lose(w)
			w.due["s"] = time.Now().Add(-time.Second)
			sweep(t, w.service(), summary.Swept{Looked: 1, Settled: 1})
			if w.calls != 1 {
				t.Errorf("%d model calls, want 1", w.calls)
			}
		})
	}
}

// TestABacklogIsTakenInTurns bounds what one change makes of an imported history; the sweep goes on at once.
func TestABacklogIsTakenInTurns(t *testing.T) {
	w := newWorld()
	s := w.service()
	texts := make([]string, 1500)
	for i := range texts {
		texts[i] = fmt.Sprint("message ", i)
	}
	consume(t, s, w.say("s", texts...))
	if got := w.sessions["s"]; got.SummarizedSeq != 1000 || w.calls != 5 {
		t.Fatalf("covered %d in %d calls, want 1000 in 5", got.SummarizedSeq, w.calls)
	}
	w.due["s"] = time.Now().Add(-time.Second)
	sweep(t, s, summary.Swept{Looked: 1, Settled: 1})
	if got := w.sessions["s"]; got.SummarizedSeq != 1500 || w.calls != 8 {
		t.Errorf("covered %d after %d calls, want 1500 after 8", got.SummarizedSeq, w.calls)
	}
}

// TestWhatTheModelIsTold checks what leaves for the vendor: times, one line a message, and no name of the user.
func TestWhatTheModelIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		consume(t, w.service(), w.say("s", "tomorrow\x00\u0085 I rest", "b", "c", "d"))
		if !strings.Contains(w.prompts[0], "[2000-01-01 00:00] user: tomorrow I rest\n") {
			t.Errorf("the model reads\n%s", w.prompts[0])
		}
		if len(w.users[0]) != 32 || strings.Contains(w.users[0], "ann") {
			t.Errorf("the user is named %q", w.users[0])
		}
	})
}

func TestOf(t *testing.T) {
	at := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
	with := func(context string, attributes map[string]any) conversation.Session {
		return conversation.Session{
			ID: "s", Context: context, Attributes: attributes, Status: conversation.Completed, LastMessageAt: at,
			Summary: &conversation.SessionSummary{Text: "x"},
		}
	}
	for name, tt := range map[string]struct {
		session conversation.Session
		want    string
		fields  map[string]any
	}{
		"by session": {with("coach_conversation", map[string]any{"programId": "p"}), "conversation_summary#s", map[string]any{}},
		"by program": {
			with("training_program", map[string]any{"programId": "p", "totalDays": 28, "mine": 1}),
			"program_summary#p",
			map[string]any{"programId": "p", "totalDays": 28},
		},
		"by a number": {with("workout_log", map[string]any{"workoutId": 7, "discipline": nil}), "workout_summary#7", map[string]any{"workoutId": 7}},
		"without it":  {with("workout_log", map[string]any{"workoutId": true}), "workout_summary#s", map[string]any{"workoutId": true}},
		"no valid id": {
			with("training_program", map[string]any{"programId": "Deadlift #1"}),
			"program_summary#sha256:82e0dcfc55835e4130d1e5fb653001c6381338f511b8a4ceb5f28afe0ac37fc6",
			map[string]any{"programId": "Deadlift #1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := summary.Of(tt.session)
			if !ok || got.ID() != tt.want || !conversation.ValidID(got.SubjectID) || got.InProgress || !got.OccurredAt.Equal(at) {
				t.Errorf("got %s, %+v, want %s", got.ID(), got, tt.want)
			}
			if diff := cmp.Diff(tt.fields, got.Fields); diff != "" {
				t.Errorf("fields (-want +got)\n%s", diff)
			}
		})
	}
	if _, ok := summary.Of(conversation.Session{Context: "coach_conversation"}); ok {
		t.Error("a session without a summary has one")
	}
}

// TestAPanicEndsOneSessionOnly has the index panic: the stream's handler hears of it in its own goroutine, and the
// sweep goes on with the other sessions.
func TestAPanicEndsOneSessionOnly(t *testing.T) {
	w := newWorld()
	s := w.service()
	w.failSave = func(sum summary.Summary) error {
		if sum.SessionID == "s" {
			panic("nil map")
		}
		return nil
	}
	change := w.say("s", "a", "b", "c", "d")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the caller did not hear of the panic")
			}
		}()
		_, _ = s.Consume(t.Context(), []conversation.Change{change})
	}()
	w.say("t", "a", "b", "c", "d")
	w.due = map[string]time.Time{"s": {}, "t": {}}
	sweep(t, s, summary.Swept{Looked: 2, Settled: 1, Failed: 1})
	if w.sessions["t"].Summary == nil {
		t.Error("the other session was not summarised")
	}
}
