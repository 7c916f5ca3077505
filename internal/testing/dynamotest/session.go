package dynamotest

import (
	"testing"

	"github.com/throughline/throughline/internal/conversation"
)

// NewSession creates a session and appends one message for each of the contents.
func NewSession(
	t testing.TB, s Stores, user conversation.UserID, context, id string, contents ...string,
) conversation.Session {
	t.Helper()
	in := conversation.NewSession{ID: id, Context: context, CoachID: "c1"}
	if _, err := s.Sessions.CreateSession(t.Context(), user, in, conversation.Idempotency{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range contents {
		if _, err := s.Messages.Append(t.Context(), user, OneMessage(id, c)); err != nil {
			t.Fatal(err)
		}
	}
	session, err := s.Sessions.Session(t.Context(), user, id)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// OneMessage is an append of one message of the user's.
func OneMessage(sessionID, content string) conversation.Append {
	return conversation.Append{
		SessionID: sessionID, Messages: []conversation.NewMessage{{Role: conversation.RoleUser, Content: content}},
	}
}
