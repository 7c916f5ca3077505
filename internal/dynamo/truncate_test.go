package dynamo_test

import (
	"slices"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

func truncate(t *testing.T, s *fixture, in conversation.Truncation) (conversation.Truncated, error) {
	t.Helper()
	out, _, err := s.Deletion.Truncate(t.Context(), alice, in, indexing.MessageVectorIDs, s.clock())
	return out, err
}

func idsOfMessages(messages []conversation.Message) []string {
	return idsOf(messages, func(m conversation.Message) string { return m.ID })
}

// TestTruncate replaces the last messages of a session, with its key twice.
func TestTruncate(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "c")
	first := appendMessages(t, s, alice, "c", userMessages("1", "2", "3", "4")...).Messages
	last := 2
	in := conversation.Truncation{
		SessionID: "c", LastN: &last, Expected: idsOfMessages(first[1:3]), Replacement: userMessages("new"),
		Idempotency: appendWithKey("c", "k").Idempotency,
	}
	checkFault(t, errorOf(truncate(t, s, in)), fault.Conflict, "another suffix than the expected one")
	in.Expected = idsOfMessages(first[2:])
	out, err := truncate(t, s, in)
	check.OK(t, err)
	check.Same(t, in.Expected, out.Deleted, "deleted")
	if out.Session.MessageCount != 3 || out.Session.LastSeq != 5 || out.Messages[0].Seq != 5 {
		t.Errorf("session %+v", out.Session)
	}
	again, err := truncate(t, s, in)
	if err != nil || !again.Replayed || !slices.Equal(again.Deleted, out.Deleted) ||
		again.Messages[0].ID != out.Messages[0].ID {
		t.Errorf("a repeat: %+v, %v", again, err)
	}
	got := allMessages(t, s, alice, "c", conversation.Page{Limit: 50})
	contents := idsOf(got, func(m conversation.Message) string { return m.Content })
	check.Same(t, []string{"1", "2", "new"}, contents, "messages")
	if got[2].Timestamp.Before(got[1].Timestamp) {
		t.Error("times decrease")
	}
	zero := 0
	out, err = truncate(t, s, conversation.Truncation{SessionID: "c", AfterSeq: &zero})
	if err != nil || len(out.Deleted) != 3 {
		t.Errorf("all after 0: %+v, %v", out, err)
	}
	checkFault(t, errorOf(truncate(t, s, conversation.Truncation{SessionID: "c"})), fault.Invalid,
		"neither afterSeq nor lastN")
}

// TestTruncateLong refuses to delete more at once than a transaction takes.
func TestTruncateLong(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "c")
	for range 2 {
		appendMessages(t, s, alice, "c", userMessages(slices.Repeat([]string{"x"}, 50)...)...)
	}
	seq := 19
	checkFault(t, errorOf(truncate(t, s, conversation.Truncation{SessionID: "c", AfterSeq: &seq})), fault.Invalid,
		"81 messages")
	seq = 20
	out, err := truncate(t, s, conversation.Truncation{SessionID: "c", AfterSeq: &seq})
	if err != nil || len(out.Deleted) != 80 {
		t.Errorf("80 messages: %d, %v", len(out.Deleted), err)
	}
}

// TestClear deletes all messages of a session, which goes on.
func TestClear(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "c")
	appendMessages(t, s, alice, "c", withID("x", "1"), withID("y", "2"))
	index := dynamotest.NoIndex{}
	service := s.Erasure(index, s.clock)
	if n, err := service.ClearSession(t.Context(), alice, "c"); err != nil || n != 2 {
		t.Fatalf("cleared %d, %v", n, err)
	}
	session, err := s.Sessions.Session(t.Context(), alice, "c")
	if err != nil || session.MessageCount != 0 || !session.StartedAt.IsZero() {
		t.Errorf("session %+v, %v", session, err)
	}
	timeline, _, err := s.Messages.Timeline(t.Context(), alice, conversation.Range{}, conversation.Page{Limit: 10})
	if err != nil || len(timeline) != 0 {
		t.Errorf("%d messages on the timeline, %v", len(timeline), err)
	}
	if out := appendMessages(t, s, alice, "c", withID("x", "3")); out.Messages[0].Seq != 1 || out.Messages[0].Duplicate {
		t.Errorf("the first message after it: %+v", out.Messages[0])
	}
	got := allMessages(t, s, alice, "c", conversation.Page{Limit: 50})
	checkComplete(t, got, 1)
	checkFault(t, errorOf(service.ClearSession(t.Context(), alice, "missing")), fault.NotFound,
		"a session that is missing")
}
