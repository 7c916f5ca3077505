package dynamo_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/storetest"
	"github.com/throughline/throughline/internal/summary"
)

func summaryOf(s conversation.Session, covered int) summary.Summary {
	return summary.Summary{
		RecordType: conversation.ConversationSummary, SubjectID: s.ID, SessionID: s.ID, Context: s.Context, CoachID: s.CoachID,
		Text: "sum", Kind: conversation.ByModel, InProgress: true, CoveredThrough: covered,
		OccurredAt: s.LastMessageAt, UpdatedAt: storetest.Now,
	}
}

// TestIdleSessionsFallDue holds that a session is due one idle time after its first message that nothing covers.
func TestIdleSessionsFallDue(t *testing.T) {
	s := dynamotest.New(t, atNow(), dynamo.WithIdle(time.Minute))
	session := newSession(t, s, alice, "coach_conversation", "a", "hi")
	if want := storetest.Now.Add(time.Minute); !session.DueAt.Equal(want) {
		t.Errorf("due at %v, want %v", session.DueAt, want)
	}
}
