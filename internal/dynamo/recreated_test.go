package dynamo_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestLateWritesOfADeletedSession makes every write that a worker may make late, for a session that was deleted and
// created again under its id. Each of them fails or does nothing, and the new session stays as it is.
func TestLateWritesOfADeletedSession(t *testing.T) {
	t.Parallel()
	table, clock := dynamotest.Table(t), dynamotest.NewClock()
	s := dynamotest.Open(t, table, clock.Option())
	late := dynamotest.Open(t, table, clock.Option(), dynamo.WithWaits(time.Hour, 0)) // has the old session in its cache
	dynamotest.NewSession(t, s, alice, "coach_conversation", "a", "old 1", "old 2")
	begun := withKey(dynamotest.OneMessage("a", "old 3"), "turn")
	turn := check.Got(late.Turns.BeginTurn(t.Context(), alice, begun, time.Minute))(t)
	old, err := late.Sessions.Session(t.Context(), alice, "a")
	check.OK(t, err)
	check.Got(s.Deletion.DeleteSession(t.Context(), alice, "a", start))(t)
	clock.Advance(time.Second)
	want := dynamotest.NewSession(t, s, alice, "coach_conversation", "a", "new 1", "new 2", "new 3")

	through := conversation.Watermark{Seq: 3, At: old.LastMessageAt}
	empty := summaryOf(old, 3)
	empty.Text = ""
	for name, err := range map[string]error{
		"finish turn": errorOf(late.Turns.FinishTurn(t.Context(), alice, turn, conversation.NewMessage{
			Role: conversation.RoleAssistant, Content: "late",
		})),
		"repeat turn":    errorOf(late.Turns.BeginTurn(t.Context(), alice, begun, time.Minute)),
		"save summary":   late.Summaries.SaveSummary(t.Context(), alice, old, summaryOf(old, 3)),
		"save watermark": late.Summaries.SaveSummary(t.Context(), alice, old, empty),
		"mark indexed":   late.Indexing.MarkIndexed(t.Context(), alice, old, through),
		"end indexing":   errorOf(late.Indexing.EndIndexing(t.Context(), alice, old, start)),
		"delete message": errorOf(late.Deletion.DeleteMessage(t.Context(), alice, turn.Message, nil, start)),
	} {
		if err == nil || fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Internal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if settled, err := late.Summaries.Settle(t.Context(), alice, old); settled || err != nil {
		t.Errorf("settle: %v, %v", settled, err)
	}
	if _, claimed, err := late.Summaries.ClaimSession(t.Context(), alice, old, start); claimed || err != nil {
		t.Errorf("claim: %v, %v", claimed, err)
	}
	if vectors, err := late.Deletion.DeleteSummaries(t.Context(), alice, old); err != nil || len(vectors) > 1 {
		t.Errorf("delete summaries: %v, %v", vectors, err)
	}
	got, err := s.Sessions.Session(t.Context(), alice, "a")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("the new session (-want +got), %v:\n%s", err, diff)
	}
	check.Same(t, []string{"new 1", "new 2", "new 3"}, contents(t, table, "a"), "its messages")
	again, err := s.Messages.Append(t.Context(), alice, dynamotest.OneMessage("a", "new 4"))
	if err != nil || again.Messages[0].Seq != 4 {
		t.Errorf("append to it: %+v, %v", again, err)
	}
}
