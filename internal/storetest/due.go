package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/memory"
	"github.com/throughline/throughline/internal/summary"
)

// dueBy lists what is due by a time.
func dueBy(t *testing.T, s Store, at time.Time, limit int) []summary.Due {
	t.Helper()
	due, err := s.DueBefore(t.Context(), at, limit)
	if err != nil {
		t.Fatal(err)
	}
	return due
}

const farAhead = 1000 * time.Hour

// testDue: the first message that nothing covers makes a session due, and further ones don't put it off.
func testDue(t *testing.T, s *stand) {
	var want []summary.Due
	for i := range 20 {
		s.advance(time.Second)
		session, _ := talk(t, s, coach, fmt.Sprint("s", i), "hi")
		if !session.DueAt.After(s.clock()) {
			t.Fatalf("a session with a message is due at %v", session.DueAt)
		}
		want = append(want, summary.Due{User: alice, Context: coach, SessionID: session.ID, DueAt: session.DueAt})
	}
	create(t, s, alice, coach, "silent")
	if due := dueBy(t, s, want[0].DueAt.Add(-time.Millisecond), 50); len(due) != 0 {
		t.Errorf("due before their time: %v", due)
	}
	s.advance(time.Second)
	add(t, s, alice, "s0", say("more")...)
	if diff := cmp.Diff(want[:5], dueBy(t, s, Now.Add(farAhead), 5)); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
	if err := s.Rearm(t.Context(), alice, read(t, s, "s0"), Now.Add(2*farAhead)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[1:], dueBy(t, s, Now.Add(farAhead), 50)); diff != "" {
		t.Errorf("due after one was put off (-want +got):\n%s", diff)
	}
	gone := read(t, s, "s0")
	gone.ID = "none"
	if err := s.Rearm(t.Context(), alice, gone, Now); !fault.Is(err, fault.NotFound) {
		t.Errorf("rearm no session: %v", err)
	}
}

func testSettleLetsAnAppendWin(t *testing.T, s *stand) {
	session, _ := talk(t, s, coach, "a", "1")
	settle := func(want int) {
		t.Helper()
		if err := s.Settle(t.Context(), alice, session); err != nil {
			t.Fatal(err)
		}
		if got := len(dueBy(t, s, Now.Add(farAhead), 50)); got != want {
			t.Errorf("%d due, want %d", got, want)
		}
	}
	settle(1)
	save(t, s, session)
	settle(1)
	ref := memory.SessionRef{Context: session.Context, SessionID: session.ID}
	if err := s.MarkIndexed(t.Context(), alice, ref, 1, 1); err != nil {
		t.Fatal(err)
	}
	add(t, s, alice, "a", say("in between")...)
	settle(1)
	if err := s.MarkIndexed(t.Context(), alice, ref, 2, 2); err != nil {
		t.Fatal(err)
	}
	save(t, s, read(t, s, "a"))
	settle(0)
	add(t, s, alice, "a", say("and again")...)
	settle(1)
}

// testCompletedSessionsAreDue: the last summary is written even when the stream's hint is lost.
func testCompletedSessionsAreDue(t *testing.T, s *stand) {
	session, _ := talk(t, s, coach, "a", "1")
	save(t, s, session)
	if err := s.MarkIndexed(t.Context(), alice, memory.SessionRef{Context: coach, SessionID: "a"}, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(t.Context(), alice, session); err != nil {
		t.Fatal(err)
	}
	completed := conversation.Completed
	if _, err := s.UpdateSession(t.Context(), alice, "a", conversation.SessionChange{Status: &completed}); err != nil {
		t.Fatal(err)
	}
	if due := dueBy(t, s, Now.Add(farAhead), 50); len(due) != 1 || due[0].SessionID != "a" {
		t.Errorf("due after completing: %v", due)
	}
}
