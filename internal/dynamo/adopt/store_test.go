package adopt_test

import (
	"flag"
	"testing"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/adopt"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/storetest"
)

const alice = conversation.UserID("alice#1")

var noKey conversation.Idempotency

// everyAnswer is set in make soak.
var everyAnswer = flag.Bool("every-answer", false, "every call at which an append or a move is stopped or late")

// TestMain checks properties 6 times where the command line does not say how often: each has many remote calls.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "6"); err != nil {
		panic(err)
	}
	dynamodbtest.Main(m) // which reads the command line
}

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

// open returns a DB that adopts the sessions of an app's own records.
func open(client table.API, name string, options ...dynamo.Option) *dynamo.DB {
	return dynamo.New(client, name, append([]dynamo.Option{adopt.WithLegacy()}, options...)...)
}
