package dynamo_test

import (
	"flag"
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

// newSession creates a session and appends one message for each of the contents.
func newSession(
	t testing.TB, s storetest.Stores, user conversation.UserID, context, id string, contents ...string,
) conversation.Session {
	t.Helper()
	in := conversation.NewSession{ID: id, Context: context, CoachID: "c1"}
	if _, err := s.Sessions.CreateSession(t.Context(), user, in, noKey); err != nil {
		t.Fatal(err)
	}
	for _, c := range contents {
		if _, err := s.Messages.Append(t.Context(), user, oneMessage(id, c)); err != nil {
			t.Fatal(err)
		}
	}
	session, err := s.Sessions.Session(t.Context(), user, id)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// oneMessage is an append of one message of the user's.
func oneMessage(sessionID, content string) conversation.Append {
	return conversation.Append{
		SessionID: sessionID, Messages: []conversation.NewMessage{{Role: conversation.RoleUser, Content: content}},
	}
}

func summaryOf(s conversation.Session, covered int) summary.Summary {
	return summary.Summary{
		RecordType: conversation.ConversationSummary, SubjectID: s.ID, SessionID: s.ID,
		Context: s.Context, CoachID: s.CoachID, Text: "sum", Kind: conversation.ByModel, InProgress: true,
		CoveredThrough: covered, OccurredAt: s.LastMessageAt, UpdatedAt: storetest.Now,
	}
}

// TestMain checks properties 6 times where the command line does not say how often: each has many remote calls.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "6"); err != nil {
		panic(err)
	}
	dynamodbtest.Main(m) // which reads the command line
}

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
	session := newSession(t, s, alice, "coach_conversation", "a", "hi")
	if want := storetest.Now.Add(time.Minute); !session.DueAt.Equal(want) {
		t.Errorf("due at %v, want %v", session.DueAt, want)
	}
}
