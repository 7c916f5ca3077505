// Package storetest is the conformance suite of the conversation stores: what every implementation has to keep, as
// api 1 and 2 and design 4.1 word it.
package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// Store is what the suite tests.
type Store interface {
	conversation.SessionStore
	conversation.MessageStore
	conversation.TurnStore
}

// Now is the time that stores under test have to take for the present.
var Now = time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)

// Run runs the suite. open returns an empty store, whose clock stands at Now and is safe for parallel use.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for name, test := range map[string]func(*testing.T, Store){
		"Create":              testCreate,
		"CreateReplays":       testCreateReplays,
		"CreateConflicts":     testCreateConflicts,
		"OtherUsers":          testOtherUsers,
		"List":                testList,
		"Edit":                testEdit,
		"Leave":               testLeave,
		"Append":              testAppend,
		"AppendTimes":         testAppendTimes,
		"AppendRefuses":       testAppendRefuses,
		"AppendReplays":       testAppendReplays,
		"AppendSameKeyAtOnce": testAppendSameKeyAtOnce,
		"AppendManyWriters":   testAppendManyWriters,
		"ContentRoundTrip":    testContentRoundTrip,
		"Paging":              testPaging,
		"PageBytes":           testPageBytes,
		"PagingWhileWriting":  testPagingWhileWriting,
		"Timeline":            testTimeline,
		"Turn":                testTurn,
		"TurnWithoutKey":      testTurnWithoutKey,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

const (
	alice = conversation.UserID("auth0|alice#1_2")
	bob   = conversation.UserID("bob")
	coach = "coach_conversation"
)

func create(t *testing.T, s Store, user conversation.UserID, context, id string) conversation.Session {
	t.Helper()
	created, err := s.CreateSession(t.Context(), user, conversation.NewSession{ID: id, Context: context, CoachID: "c1"}, conversation.Idempotency{})
	if err != nil {
		t.Fatalf("create session %s: %v", id, err)
	}
	return created.Session
}

func say(contents ...string) []conversation.NewMessage {
	messages := make([]conversation.NewMessage, len(contents))
	for i, c := range contents {
		messages[i] = conversation.NewMessage{Role: conversation.User, Content: c}
	}
	return messages
}

func add(t *testing.T, s Store, user conversation.UserID, id string, messages ...conversation.NewMessage) conversation.Appended {
	t.Helper()
	a, err := s.Append(t.Context(), user, conversation.Append{SessionID: id, Messages: messages})
	if err != nil {
		t.Fatalf("append to %s: %v", id, err)
	}
	return a
}

// readAll pages through a session's messages.
func readAll(ctx context.Context, s conversation.MessageStore, user conversation.UserID, id string, page conversation.Page) ([]conversation.Message, error) {
	var all []conversation.Message
	for {
		messages, next, err := s.Messages(ctx, user, id, page)
		if err != nil {
			return nil, err
		}
		all = append(all, messages...)
		if next == "" {
			return all, nil
		}
		page.After = next
	}
}

// checkWhole fails unless the messages are seq 1..n in order with strictly increasing times.
func checkWhole(t *testing.T, messages []conversation.Message, n int) {
	t.Helper()
	if len(messages) != n {
		t.Errorf("read %d messages, want %d", len(messages), n)
	}
	for i, m := range messages {
		if m.Seq != i+1 {
			t.Fatalf("message %d has seq %d", i+1, m.Seq)
		}
		if i > 0 && !m.Timestamp.After(messages[i-1].Timestamp) {
			t.Fatalf("message %d at %v is not after %v", m.Seq, m.Timestamp, messages[i-1].Timestamp)
		}
	}
}

func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%d", prefix, i+1)
	}
	return out
}
