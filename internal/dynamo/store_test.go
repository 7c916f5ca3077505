package dynamo_test

import (
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/storetest"
	"github.com/throughline/throughline/internal/summary"
)

const alice, bob = conversation.UserID("alice#1"), conversation.UserID("bob")

var noKey conversation.Idempotency

// errorOf returns the error of a call with two results.
func errorOf[T any](_ T, err error) error { return err }

func summaryOf(s conversation.Session, covered int) summary.Summary {
	return summary.Summary{
		RecordType: conversation.ConversationSummary, SubjectID: s.ID, SessionID: s.ID,
		Context: s.Context, CoachID: s.CoachID, Text: "sum", Kind: conversation.ByModel, InProgress: true,
		CoveredThrough: covered, OccurredAt: s.LastMessageAt, UpdatedAt: storetest.Now,
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

// TestStore runs the conformance suite on a table that has records of the app in the users' partitions. It does not run
// in parallel with other tests, because the suite sets rapid's flag.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Subject {
		table := dynamotest.Table(t)
		return storetest.Subject{
			Stores: dynamotest.Open(t, table, dynamo.WithClock(now)),
			AppRecord: func(t *testing.T, user conversation.UserID) func() bool {
				own := []string{"workout#1", "summary#the app's own", "conversation", "ltm", "zzz#1"}
				for _, sk := range own {
					dynamotest.Put(t, table, user, sk, nil)
				}
				return func() bool { return containsAll(dynamotest.Keys(t, table, user), own) }
			},
		}
	})
}

func containsAll(keys, wanted []string) bool {
	for _, k := range wanted {
		if !slices.Contains(keys, k) {
			return false
		}
	}
	return true
}

// TestDueAt checks that a session is due when it has been idle for a time after its first message that no summary
// covers.
func TestDueAt(t *testing.T) {
	t.Parallel()
	s := dynamotest.New(t, dynamotest.FixedClock(), dynamo.WithIdle(time.Minute))
	session := dynamotest.NewSession(t, s, alice, "coach_conversation", "a", "hi")
	if want := storetest.Now.Add(time.Minute); !session.DueAt.Equal(want) {
		t.Errorf("due at %v, want %v", session.DueAt, want)
	}
}
