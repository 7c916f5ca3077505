package dynamo_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
)

func testCreate(t *testing.T, s *fixture) {
	in := conversation.NewSession{
		ID: "a.b:c-d_1", Context: "program_designer", CoachID: "c1", Title: "Plan",
		Attributes: map[string]any{"programId": "p1", "days": 3.0, "deep": map[string]any{"x": []any{nil, true, "é"}}},
	}
	created, err := s.Sessions.CreateSession(t.Context(), alice, in, noKey)
	check.OK(t, err)
	want := conversation.Session{
		ID: in.ID, Context: in.Context, CoachID: "c1", Mode: "program_design", Status: conversation.Active,
		Title: "Plan", Attributes: in.Attributes, CreatedAt: start, Adopted: s.adopted,
		Version: created.Session.Version,
	}
	check.Same(t, want, created.Session, "created")
	got, err := s.Sessions.Session(t.Context(), alice, in.ID)
	check.OK(t, err)
	check.Same(t, want, got, "read back")
	in = conversation.NewSession{Context: coach, CoachID: "c1"}
	fresh, err := s.Sessions.CreateSession(t.Context(), alice, in, noKey)
	if err != nil || !conversation.ValidID(fresh.Session.ID) {
		t.Errorf("without an id: %q, %v", fresh.Session.ID, err)
	}
}

func testCreateReplays(t *testing.T, s *fixture) {
	idem := conversation.Idempotency{Scope: "POST /v1/sessions", Key: "k#1", BodyHash: "h1"}
	in := conversation.NewSession{Context: coach, CoachID: "c1"}
	first, err := s.Sessions.CreateSession(t.Context(), alice, in, idem)
	check.OK(t, err)
	appendMessages(t, s, alice, first.Session.ID, userMessages("hello")...)
	again, err := s.Sessions.CreateSession(t.Context(), alice, in, idem)
	if err != nil || !again.Replayed {
		t.Fatalf("repeat: replayed %v, %v", again.Replayed, err)
	}
	if again.Session.ID != first.Session.ID || again.Session.MessageCount != 0 || !again.Session.LastMessageAt.IsZero() {
		t.Errorf("the repeat answers %+v, the first call %+v", again.Session, first.Session)
	}
	idem.BodyHash = "h2"
	checkFault(t, errorOf(s.Sessions.CreateSession(t.Context(), alice, in, idem)), fault.IdempotencyMismatch,
		"another body")
	other, err := s.Sessions.CreateSession(t.Context(), bob, in, idem)
	if err != nil || other.Replayed {
		t.Errorf("another user's same key: replayed %v, %v", other.Replayed, err)
	}
}

func testCreateConflicts(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "one")
	for _, context := range conversation.Contexts() {
		in := conversation.NewSession{ID: "one", Context: context, CoachID: "c1"}
		checkFault(t, errorOf(s.Sessions.CreateSession(t.Context(), alice, in, noKey)), fault.Conflict,
			"the same id in %s", context)
	}
	invalid := map[string]conversation.NewSession{
		"context":   {ID: "x", Context: "nowhere", CoachID: "c1"},
		"sessionId": {ID: "a#b", Context: coach, CoachID: "c1"},
		"coachId":   {ID: "x", Context: coach},
	}
	for field, in := range invalid {
		_, err := s.Sessions.CreateSession(t.Context(), alice, in, noKey)
		checkField(t, err, field)
	}
	// Of many concurrent calls with one id, in any contexts, exactly one succeeds.
	var wg sync.WaitGroup
	results := make([]error, 10)
	for i := range results {
		wg.Go(func() {
			in := conversation.NewSession{ID: "race", Context: conversation.Contexts()[i%5], CoachID: "c1"}
			_, results[i] = s.Sessions.CreateSession(t.Context(), alice, in, noKey)
		})
	}
	wg.Wait()
	succeeded := 0
	for _, err := range results {
		if err == nil {
			succeeded++
		} else {
			checkFault(t, err, fault.Conflict, "a concurrent call")
		}
	}
	if succeeded != 1 {
		t.Errorf("%d concurrent calls succeeded, want 1", succeeded)
	}
}

func checkField(t *testing.T, err error, field string) {
	t.Helper()
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("%s: %v, want invalid", field, err)
		return
	}
	for _, f := range fault.From(err).Fields {
		if f.Field == field {
			return
		}
	}
	t.Errorf("the error does not name %s: %v", field, err)
}

func TestOtherUsersData(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "same")
	appendMessages(t, s, alice, "same", userMessages("alice's secret")...)
	checkFault(t, errorOf(s.Sessions.Session(t.Context(), bob, "same")), fault.NotFound, "read another user's session")
	checkFault(t, errorOf(s.Messages.Append(t.Context(), bob, newAppend("same", "x"))), fault.NotFound,
		"append to another user's session")
	_, _, err := s.Messages.Messages(t.Context(), bob, "same", conversation.Page{Limit: 10})
	checkFault(t, err, fault.NotFound, "read another user's messages")
	createSession(t, s, bob, coach, "same")
	appendMessages(t, s, bob, "same", userMessages("bob's word")...)
	got := allMessages(t, s, bob, "same", conversation.Page{Limit: 10})
	if len(got) != 1 || got[0].Content != "bob's word" {
		t.Errorf("bob reads %v", got)
	}
	messages, _, err := s.Messages.Timeline(t.Context(), bob, conversation.Range{}, conversation.Page{Limit: 10})
	if err != nil || len(messages) != 1 || messages[0].Content != "bob's word" {
		t.Errorf("bob's timeline is %v, %v", messages, err)
	}
}

// listIDs lists the ids of alice's sessions in pages of at most limit.
func listIDs(t *testing.T, s *fixture, filter conversation.SessionFilter, limit int) []string {
	t.Helper()
	list := func(p conversation.Page) ([]conversation.Session, conversation.Position, error) {
		return s.Sessions.Sessions(t.Context(), alice, filter, p)
	}
	sessions := allPages(t, conversation.Page{Limit: limit}, list)
	return idsOf(sessions, sessionID)
}

func testUpdateSession(t *testing.T, s *fixture) {
	in := conversation.NewSession{ID: "e", Context: coach, CoachID: "c1", Attributes: map[string]any{"a": "1", "b": "2"}}
	check.Got(s.Sessions.CreateSession(t.Context(), alice, in, noKey))(t)
	title, status := "Leg day", conversation.Completed
	change := conversation.SessionChange{Title: &title, Status: &status, Attributes: map[string]any{"b": nil, "c": 3}}
	got, err := s.Sessions.UpdateSession(t.Context(), alice, "e", change)
	check.OK(t, err)
	if got.Title != title || got.Status != status {
		t.Errorf("changed to %q, %q", got.Title, got.Status)
	}
	check.Same(t, map[string]any{"a": "1", "c": 3.0}, got.Attributes, "attributes")
	bad := conversation.Status("paused")
	_, err = s.Sessions.UpdateSession(t.Context(), alice, "e", conversation.SessionChange{Status: &bad})
	checkField(t, err, "status")
	checkFault(t, errorOf(s.Sessions.UpdateSession(t.Context(), alice, "none", change)), fault.NotFound,
		"change a missing session")
	// Concurrent changes and appends are all stored.
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			c := conversation.SessionChange{Attributes: map[string]any{fmt.Sprint("k", i): "v"}}
			if _, err := s.Sessions.UpdateSession(t.Context(), alice, "e", c); err != nil {
				t.Errorf("concurrent change: %v", err)
			}
		})
		wg.Go(func() { appendMessages(t, s, alice, "e", userMessages("x")...) })
	}
	wg.Wait()
	got, err = s.Sessions.Session(t.Context(), alice, "e")
	if err != nil || got.MessageCount != 5 || len(got.Attributes) != 7 {
		t.Errorf("afterwards: %d messages, attributes %v, %v", got.MessageCount, got.Attributes, err)
	}
}

func TestLeaveSession(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "l")
	at := start.Add(-time.Minute)
	check.OK(t, s.Sessions.LeaveSession(t.Context(), alice, "l", at))
	got, err := s.Sessions.Session(t.Context(), alice, "l")
	if err != nil || !got.LeftAt.Equal(at) {
		t.Errorf("left at %v, %v", got.LeftAt, err)
	}
	checkFault(t, s.Sessions.LeaveSession(t.Context(), bob, "l", at), fault.NotFound, "leave another user's session")
}
