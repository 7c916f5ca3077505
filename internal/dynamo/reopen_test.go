package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

// complete completes a session of alice and returns it as it is then.
func complete(t *testing.T, s *fixture, id string) conversation.Session {
	t.Helper()
	completed := conversation.Completed
	got, err := s.Sessions.UpdateSession(t.Context(), alice, id, conversation.SessionChange{Status: &completed})
	if err != nil {
		t.Fatalf("complete session %s: %v", id, err)
	}
	return got
}

// testReopen appends to a completed session. What the user says next makes it active again, and due for its summary.
func testReopen(t *testing.T, s *fixture) {
	newSession(t, s, coach, "r", "one")
	complete(t, s, "r")
	s.advance(time.Minute)
	history := conversation.NewMessage{Role: conversation.RoleUser, Content: "x", Timestamp: start.Add(-time.Hour)}
	answer := conversation.NewMessage{Role: conversation.RoleAssistant, Content: "Saved."}
	for _, m := range []conversation.NewMessage{history, answer} {
		got := appendMessages(t, s, alice, "r", m).Session
		if stored := readSession(t, s, "r"); got.Status != conversation.Completed || stored.Status != got.Status ||
			!stored.CompletedAt.Equal(start) {
			t.Errorf("after %q of the %s: %s, stored as %s, completed at %v", m.Content, m.Role, got.Status,
				stored.Status, stored.CompletedAt)
		}
	}
	in := appendWithKey("r", "k")
	first := appendOnce(t, s, in)
	stored := readSession(t, s, "r")
	isDue := !stored.DueAt.IsZero() || !stored.IsMigrated() // which the migration's index action finds
	if first.Session.Status != conversation.Active || stored.Status != conversation.Active ||
		!stored.CompletedAt.IsZero() || stored.MessageCount != 5 || !isDue {
		t.Errorf("after the user's: %s, stored as %+v", first.Session.Status, stored)
	}
	for status, want := range map[conversation.Status]string{conversation.Active: "[r]", conversation.Completed: "[]"} {
		check.Equal(t, want, fmt.Sprint(listIDs(t, s, conversation.SessionFilter{Status: status}, 5)), "%s sessions", status)
	}
	complete(t, s, "r")
	checkRepeat(t, s, in, first)
	check.Equal(t, conversation.Completed, readSession(t, s, "r").Status, "a repeated append leaves the session")
	question := turnWithKey("turn")
	question.SessionID = "r"
	begun, err := s.Turns.BeginTurn(t.Context(), alice, question, time.Minute)
	if got := readSession(t, s, "r").Status; err != nil || got != conversation.Active ||
		begun.Session.Status != conversation.Active {
		t.Errorf("a turn leaves the session %s and begins in one that is %s, %v", got, begun.Session.Status, err)
	}
}

// testReopenAtOnce completes a session while the user says something. The session is in the state of the later of the
// two writes, which is the one that knows both: a completion that counts the message, or else the message reopened it.
func testReopenAtOnce(t *testing.T, s *fixture) {
	for i := range 20 {
		id := fmt.Sprint("c", i)
		createSession(t, s, alice, coach, id)
		completed, said := make(chan conversation.Session, 1), make(chan struct{})
		go func() {
			defer close(completed)
			status := conversation.Completed
			got, err := s.Sessions.UpdateSession(t.Context(), alice, id, conversation.SessionChange{Status: &status})
			if err != nil {
				t.Errorf("complete: %v", err)
			}
			completed <- got
		}()
		go func() {
			defer close(said)
			if _, err := s.Messages.Append(t.Context(), alice, newAppend(id, "wait")); err != nil {
				t.Errorf("append: %v", err)
			}
		}()
		<-said
		want := conversation.Active
		if answer := <-completed; answer.MessageCount == 1 {
			want = conversation.Completed
		}
		got := readSession(t, s, id)
		if got.Status != want || got.CompletedAt.IsZero() != (want == conversation.Active) || got.MessageCount != 1 {
			t.Errorf("%d messages, %s, completed at %v, want %s", got.MessageCount, got.Status, got.CompletedAt, want)
		}
	}
}
