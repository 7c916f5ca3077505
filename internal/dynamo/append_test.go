package dynamo_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
)

func testAppend(t *testing.T, s *fixture) {
	createSession(t, s, alice, "program_designer", "p")
	m := conversation.NewMessage{
		Role: conversation.RoleAssistant, Content: "Done.", Tokens: 2, AgentID: "coach", Mode: "build",
		Metadata: map[string]any{"interrupted": true, "n": 1, "list": []string{"a"}},
	}
	a := appendMessages(t, s, alice, "p", userMessages("swap it")[0], m)
	want := conversation.Message{
		ID: a.Messages[1].ID, Seq: 2, SessionID: "p", Context: "program_designer", CoachID: "c1", AgentID: "coach",
		Role: conversation.RoleAssistant, Content: "Done.", Tokens: 2, Timestamp: start.Add(time.Millisecond), Mode: "build",
		Metadata:         map[string]any{"interrupted": true, "n": 1.0, "list": []any{"a"}},
		SessionCreatedAt: start,
	}
	check.Same(t, want, a.Messages[1], "appended")
	if a.Messages[0].Mode != "program_design" {
		t.Errorf("mode %q, want that of the session", a.Messages[0].Mode)
	}
	x := a.Session
	if x.MessageCount != 2 || x.LastSeq != 2 || !x.StartedAt.Equal(start) || !x.LastMessageAt.Equal(want.Timestamp) {
		t.Errorf("session after: %+v", x)
	}
	got := allMessages(t, s, alice, "p", conversation.Page{Limit: 50})
	sameMessages(t, a.Messages, got, "read back")
	again := readSession(t, s, "p")
	if again.MessageCount != 2 || !again.LastMessageAt.Equal(x.LastMessageAt) || !again.StartedAt.Equal(start) {
		t.Errorf("session read back: %+v", again)
	}
}

func testAppendTimes(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "t")
	at := func(d time.Duration) conversation.NewMessage {
		return conversation.NewMessage{Role: conversation.RoleUser, Content: "x", Timestamp: start.Add(d)}
	}
	appendMessages(t, s, alice, "t", at(-time.Hour))
	a := appendMessages(t, s, alice, "t", at(-2*time.Hour), at(-2*time.Hour), at(-30*time.Minute))
	want := []time.Duration{-time.Hour + time.Millisecond, -time.Hour + 2*time.Millisecond, -30 * time.Minute}
	for i, m := range a.Messages {
		if !m.Timestamp.Equal(start.Add(want[i])) {
			t.Errorf("message %d at %v, want %v", i, m.Timestamp, start.Add(want[i]))
		}
	}
	ancient := at(0)
	ancient.Timestamp = time.Date(1912, 6, 23, 1, 2, 3, 456789000, time.FixedZone("", 3600))
	createSession(t, s, alice, coach, "old")
	appendMessages(t, s, alice, "old", ancient)
	got := allMessages(t, s, alice, "old", conversation.Page{Limit: 1})
	if len(got) != 1 || !got[0].Timestamp.Equal(ancient.Timestamp.Truncate(time.Millisecond)) {
		t.Errorf("a time before 1970: %v", got)
	}
}

func testConcurrentAppendsWithOneKey(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "k")
	in := conversation.Append{
		SessionID: "k", Messages: userMessages("once"),
		Idempotency: conversation.Idempotency{Scope: "POST x", Key: "k", BodyHash: "h"},
	}
	const n = 50
	answers := make([]conversation.Appended, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var err error
			if answers[i], err = s.Messages.Append(t.Context(), alice, in); err != nil {
				t.Errorf("repeat %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	firsts := 0
	for _, a := range answers {
		checkSameAnswer(t, answers[0], a)
		if !a.Replayed {
			firsts++
		}
	}
	if firsts != 1 {
		t.Errorf("%d answers were not replays, want 1", firsts)
	}
	got := allMessages(t, s, alice, "k", conversation.Page{Limit: 50})
	checkComplete(t, got, 1)
}

func testContentRoundTrip(t *testing.T, s *fixture) {
	contents := []string{
		"👩🏽‍🚀 👨‍👩‍👧‍👦 🏳️‍🌈", "שלום עולם", "مرحبا", "e\u0301 n\u0303", "\u0000 in the middle \u0000", "\u0000",
		"line\r\n\ttab\u001b\u202e\ufeff", " ", strings.Repeat("ü", 128<<10),
	}
	createSession(t, s, alice, coach, "c")
	appendMessages(t, s, alice, "c", userMessages(contents...)...)
	got := allMessages(t, s, alice, "c", conversation.Page{Limit: 50})
	checkComplete(t, got, len(contents))
	for i, m := range got {
		if m.Content != contents[i] {
			t.Errorf("content %d of %d bytes came back with %d bytes", i, len(contents[i]), len(m.Content))
		}
	}
}

// testFlags appends messages that are kept out of the index, or of summaries and memories.
func testFlags(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "c")
	want := []conversation.NewMessage{
		{Role: conversation.RoleUser, Content: "a", NoIndex: true},
		{Role: conversation.RoleUser, Content: "b", NoExtract: true},
		{Role: conversation.RoleUser, Content: "c"},
	}
	appendMessages(t, s, alice, "c", want...)
	got := allMessages(t, s, alice, "c", conversation.Page{Limit: 50})
	if len(got) != len(want) {
		t.Fatalf("%d messages", len(got))
	}
	for i, m := range got {
		if m.NoIndex != want[i].NoIndex || m.NoExtract != want[i].NoExtract {
			t.Errorf("message %s: %v, %v", m.Content, m.NoIndex, m.NoExtract)
		}
	}
}

func testAppendReplays(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "i")
	in := appendWithKey("i", "k")
	first := appendOnce(t, s, in)
	appendMessages(t, s, alice, "i", userMessages("three")...)
	checkRepeat(t, s, in, first)
	other := in
	other.Idempotency.BodyHash = "h2"
	checkFault(t, errorOf(s.Messages.Append(t.Context(), alice, other)), fault.IdempotencyMismatch, "another body")
	other.Idempotency.Key = "k2"
	appendOnce(t, s, other)
	got := allMessages(t, s, alice, "i", conversation.Page{Limit: 50})
	checkComplete(t, got, 5)
	check.Got(s.Deletion.DeleteMessage(t.Context(), alice, first.Messages[1], nil, start))(t)
	checkRepeat(t, s, in, first)
	checkSeqs(t, s, "i", 1, 3, 4, 5)
}

// appendOnce carries out an append of alice that is no repeat.
func appendOnce(t *testing.T, s *fixture, in conversation.Append) conversation.Appended {
	t.Helper()
	out, err := s.Messages.Append(t.Context(), alice, in)
	if err != nil || out.Replayed {
		t.Fatalf("append: replayed %v, %v", out.Replayed, err)
	}
	return out
}

// checkRepeat repeats an append of alice, which has to be answered with the messages of the first one and the session
// as it is now. Of a session that is gone it is as it was.
func checkRepeat(t *testing.T, s *fixture, in conversation.Append, first conversation.Appended) {
	t.Helper()
	again, err := s.Messages.Append(t.Context(), alice, in)
	if err != nil || !again.Replayed {
		t.Fatalf("repeat: replayed %v, %v", again.Replayed, err)
	}
	if now, err := s.Sessions.Session(t.Context(), alice, first.Session.ID); !fault.Is(err, fault.NotFound) {
		check.OK(t, err)
		now.Summary = nil
		first.Session = now
	}
	checkSameAnswer(t, first, again)
}

// checkSameAnswer compares the parts of two answers that a client sees.
func checkSameAnswer(t *testing.T, a, b conversation.Appended) {
	t.Helper()
	sameMessages(t, a.Messages, b.Messages, "messages")
	seen := func(s conversation.Session) conversation.Session {
		return conversation.Session{
			ID: s.ID, Context: s.Context, CoachID: s.CoachID, Mode: s.Mode, Status: s.Status, Title: s.Title,
			Attributes: s.Attributes, MessageCount: s.MessageCount, StartedAt: s.StartedAt,
			LastMessageAt: s.LastMessageAt, Summary: s.Summary,
		}
	}
	check.Same(t, seen(a.Session), seen(b.Session), "sessions")
}

// appendWithKey returns an append of two messages with an idempotency key.
func appendWithKey(sessionID, key string) conversation.Append {
	return conversation.Append{
		SessionID: sessionID, Messages: userMessages("one", "two"),
		Idempotency: conversation.Idempotency{Scope: "POST /v1/sessions/" + sessionID + "/messages", Key: key, BodyHash: "h"},
	}
}

// testKeysExpire uses an idempotency key again, for another request, after the 24 hours for which it is kept.
func testKeysExpire(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "i")
	for range 2 {
		in := appendWithKey("i", "k")
		in.Idempotency.BodyHash = s.clock().String()
		appendOnce(t, s, in)
		s.advance(24*time.Hour + time.Second)
	}
}

func testAppendReplaysAfterEdits(t *testing.T, s *fixture) {
	check.Got(s.Sessions.CreateSession(t.Context(), alice, conversation.NewSession{
		ID: "i", Context: coach, CoachID: "c", Title: "first", Attributes: map[string]any{"week": "1", "gone": true},
	}, noKey))(t)
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
		first := appendOnce(t, s, appendWithKey("i", string(rune('a'+i))))
		answers = append(answers, first)
		check.Got(s.Sessions.UpdateSession(t.Context(), alice, "i", edit))(t)
	}
	for i, first := range answers {
		checkRepeat(t, s, appendWithKey("i", string(rune('a'+i))), first)
	}
}

func testAppendReplaysAfterDeletion(t *testing.T, s *fixture) {
	create := func(title string) {
		t.Helper()
		in := conversation.NewSession{ID: "i", Context: coach, CoachID: "c", Title: title}
		check.Got(s.Sessions.CreateSession(t.Context(), alice, in, noKey))(t)
	}
	create("first")
	first := appendOnce(t, s, appendWithKey("i", "k"))
	title := "second"
	check.Got(s.Sessions.UpdateSession(t.Context(), alice, "i", conversation.SessionChange{Title: &title}))(t)
	check.OK(t, s.sweeper().DeleteSession(t.Context(), alice, "i"))
	first.Session.Title = "" // the title was deleted with the session
	checkReplay := func(when string) {
		t.Helper()
		checkRepeat(t, s, appendWithKey("i", "k"), first)
		checkFault(t, errorOf(s.Messages.Append(t.Context(), bob, appendWithKey("i", "k"))), fault.NotFound,
			"%s, by another user", when)
	}
	checkReplay("after the deletion")
	checkFault(t, errorOf(s.Messages.Append(t.Context(), alice, appendWithKey("i", "other"))), fault.NotFound,
		"another key after the deletion")
	other := appendWithKey("i", "k")
	other.Idempotency.BodyHash = "h2"
	checkFault(t, errorOf(s.Messages.Append(t.Context(), alice, other)), fault.IdempotencyMismatch,
		"another body after the deletion")
	s.advance(time.Second)
	create("third")
	if a, err := s.Messages.Append(t.Context(), alice, appendWithKey("i", "k")); !fault.Is(err, fault.Conflict) {
		t.Errorf("repeat after the id was used again: %+v, %v, want a conflict: nothing of it is there", a, err)
	}
	checkSeqs(t, s, "i")
	appendOnce(t, s, appendWithKey("i", "another"))
	checkSeqs(t, s, "i", 1, 2)
}
