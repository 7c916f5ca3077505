package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

func testAppendReplays(t *testing.T, s *stand) {
	create(t, s, alice, coach, "i")
	in := keyed("i", "k")
	first, err := s.Append(t.Context(), alice, in)
	if err != nil || first.Replayed {
		t.Fatalf("first: replayed %v, %v", first.Replayed, err)
	}
	add(t, s, alice, "i", say("three")...)
	again, err := s.Append(t.Context(), alice, in)
	if err != nil || !again.Replayed {
		t.Fatalf("repeat: replayed %v, %v", again.Replayed, err)
	}
	checkSameAnswer(t, first, again)
	other := in
	other.Idempotency.BodyHash = "h2"
	if _, err := s.Append(t.Context(), alice, other); !fault.Is(err, fault.IdempotencyMismatch) {
		t.Errorf("another body: %v", err)
	}
	other.Idempotency.Key = "k2"
	if a, err := s.Append(t.Context(), alice, other); err != nil || a.Replayed {
		t.Errorf("another key: replayed %v, %v", a.Replayed, err)
	}
	got, err := readAll(t.Context(), s, alice, "i", conversation.Page{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, got, 5)
	if _, err := s.BuryMessage(t.Context(), alice, first.Messages[1], nil, Now); err != nil {
		t.Fatal(err)
	}
	if again, err = s.Append(t.Context(), alice, in); err != nil || !again.Replayed {
		t.Fatalf("repeat after a message was deleted: replayed %v, %v", again.Replayed, err)
	}
	checkSameAnswer(t, first, again)
	checkSeqs(t, s, "i", 1, 3, 4, 5)
}

// checkSameAnswer compares what a client sees of two answers.
func checkSameAnswer(t *testing.T, a, b conversation.Appended) {
	t.Helper()
	if diff := cmp.Diff(a.Messages, b.Messages); diff != "" {
		t.Errorf("messages differ:\n%s", diff)
	}
	seen := func(s conversation.Session) conversation.Session {
		return conversation.Session{
			ID: s.ID, Context: s.Context, CoachID: s.CoachID, Mode: s.Mode, Status: s.Status, Title: s.Title,
			Attributes: s.Attributes, MessageCount: s.MessageCount, StartedAt: s.StartedAt,
			LastMessageAt: s.LastMessageAt, Summary: s.Summary,
		}
	}
	if diff := cmp.Diff(seen(a.Session), seen(b.Session)); diff != "" {
		t.Errorf("sessions differ:\n%s", diff)
	}
}

// keyed is an append with an idempotency key.
func keyed(sessionID, key string) conversation.Append {
	return conversation.Append{
		SessionID: sessionID, Messages: say("one", "two"),
		Idempotency: conversation.Idempotency{Scope: "POST /v1/sessions/" + sessionID + "/messages", Key: key, BodyHash: "h"},
	}
}

func testAppendReplaysAfterEdits(t *testing.T, s *stand) {
	if _, err := s.CreateSession(t.Context(), alice, conversation.NewSession{
		ID: "i", Context: coach, CoachID: "c", Title: "first", Attributes: map[string]any{"week": "1", "gone": true},
	}, conversation.Idempotency{}); err != nil {
		t.Fatal(err)
	}
	second, none, completed := "second", "", conversation.Completed
	edits := []conversation.SessionChange{
		{Title: &second},
		{Attributes: map[string]any{"week": "2", "gone": nil}},
		{Status: &completed},
		{Title: &none, Attributes: map[string]any{"week": nil}},
		{Title: &second},
	}
	var answers []conversation.Appended
	for i, edit := range edits {
		first, err := s.Append(t.Context(), alice, keyed("i", string(rune('a'+i))))
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, first)
		if _, err := s.UpdateSession(t.Context(), alice, "i", edit); err != nil {
			t.Fatal(err)
		}
	}
	for i, first := range answers {
		again, err := s.Append(t.Context(), alice, keyed("i", string(rune('a'+i))))
		if err != nil || !again.Replayed {
			t.Fatalf("repeat %d: replayed %v, %v", i, again.Replayed, err)
		}
		checkSameAnswer(t, first, again)
	}
}

func testAppendReplaysAfterDeletion(t *testing.T, s *stand) {
	born := func(title string) {
		t.Helper()
		in := conversation.NewSession{ID: "i", Context: coach, CoachID: "c", Title: title}
		if _, err := s.CreateSession(t.Context(), alice, in, conversation.Idempotency{}); err != nil {
			t.Fatal(err)
		}
	}
	born("first")
	first, err := s.Append(t.Context(), alice, keyed("i", "k"))
	if err != nil {
		t.Fatal(err)
	}
	title := "second"
	if _, err := s.UpdateSession(t.Context(), alice, "i", conversation.SessionChange{Title: &title}); err != nil {
		t.Fatal(err)
	}
	if err := s.deletions().DeleteSession(t.Context(), alice, "i"); err != nil {
		t.Fatal(err)
	}
	first.Session.Title = "" // it went with the session
	check := func(when string) {
		t.Helper()
		again, err := s.Append(t.Context(), alice, keyed("i", "k"))
		if err != nil || !again.Replayed {
			t.Fatalf("repeat %s: replayed %v, %v", when, again.Replayed, err)
		}
		checkSameAnswer(t, first, again)
		if _, err := s.Append(t.Context(), bob, keyed("i", "k")); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s, by another user: %v", when, err)
		}
	}
	check("after the deletion")
	if _, err := s.Append(t.Context(), alice, keyed("i", "other")); !fault.Is(err, fault.NotFound) {
		t.Errorf("another key after the deletion: %v", err)
	}
	other := keyed("i", "k")
	other.Idempotency.BodyHash = "h2"
	if _, err := s.Append(t.Context(), alice, other); !fault.Is(err, fault.IdempotencyMismatch) {
		t.Errorf("another body after the deletion: %v", err)
	}
	s.advance(time.Second)
	born("anew")
	check("after the id was used anew")
	checkSeqs(t, s, "i")
}
