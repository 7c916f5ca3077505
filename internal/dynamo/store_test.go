package dynamo_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

const alice, bob = conversation.UserID("alice#1"), conversation.UserID("bob")

var noKey conversation.Idempotency

// errorOf returns the error of a call with two results.
func errorOf[T any](_ T, err error) error { return err }

func summaryOf(s conversation.Session, covered int) summary.Summary {
	return summary.Summary{
		RecordType: conversation.ConversationSummary, SubjectID: s.ID, SessionID: s.ID,
		Context: s.Context, CoachID: s.CoachID, Text: "sum", Kind: conversation.ByModel, InProgress: true,
		CoveredThrough: covered, OccurredAt: s.LastMessageAt, UpdatedAt: start,
	}
}

// TestMain has few checks of properties, because each has many remote calls.
func TestMain(m *testing.M) { dynamodbtest.MainWithChecks(m, 6) }

// TestCreateTable creates the table that the local stack creates.
func TestCreateTable(t *testing.T) {
	t.Parallel()
	if name := dynamodbtest.Table(t, table.CreateTableInput("any")); name == "" {
		t.Fatal("no table")
	}
}

// TestDueAt checks that a session is due when it has been idle for a time after its first message that no summary
// covers.
func TestDueAt(t *testing.T) {
	t.Parallel()
	s := dynamotest.New(t, dynamotest.FixedClock(), dynamo.WithWaits(time.Minute, 0))
	session := dynamotest.NewSession(t, s, alice, "coach_conversation", "a", "hi")
	if want := start.Add(time.Minute); !session.DueAt.Equal(want) {
		t.Errorf("due at %v, want %v", session.DueAt, want)
	}
}
