package dynamo_test

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

const coach = "coach_conversation"

// start is when the clock of a test begins.
var start = dynamotest.Now

// initialStage is set in make soak.
var initialStage = flag.String("stage", "", "the stage of a migration in which users are")

// fixture is the stores of a table and their clock.
type fixture struct {
	dynamotest.Stores
	table string
	// adopted is what new sessions have of it.
	adopted conversation.Adopted

	mu  sync.Mutex
	now time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureIn(t, *initialStage)
}

// newFixtureIn is newFixture with users in a stage of a migration.
func newFixtureIn(t *testing.T, stage string) *fixture {
	t.Helper()
	s := &fixture{table: dynamotest.Table(t), now: start}
	options := []dynamo.Option{dynamo.WithClock(s.clock)}
	if stage != "" {
		option, adopted := dynamotest.InStage(stage)
		options, s.adopted = append(options, option), adopted
	}
	s.Stores = dynamotest.Open(t, s.table, options...)
	return s
}

// clock returns the time that the store takes as now.
func (s *fixture) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *fixture) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func errorOf3[T, U any](_ T, _ U, err error) error { return err }

// checkFault checks the code of an error. The format says what was tried.
var checkFault = check.Fault

func createSession(t *testing.T, s *fixture, user conversation.UserID, context, id string) conversation.Session {
	t.Helper()
	in := conversation.NewSession{ID: id, Context: context, CoachID: "c1"}
	created, err := s.Sessions.CreateSession(t.Context(), user, in, noKey)
	if err != nil {
		t.Fatalf("create session %s: %v", id, err)
	}
	return created.Session
}

func userMessages(contents ...string) []conversation.NewMessage {
	messages := make([]conversation.NewMessage, len(contents))
	for i, c := range contents {
		messages[i] = conversation.NewMessage{Role: conversation.RoleUser, Content: c}
	}
	return messages
}

// newAppend returns an append of user messages to a session.
func newAppend(sessionID string, contents ...string) conversation.Append {
	return conversation.Append{SessionID: sessionID, Messages: userMessages(contents...)}
}

func appendMessages(
	t *testing.T, s *fixture, user conversation.UserID, id string, messages ...conversation.NewMessage,
) conversation.Appended {
	t.Helper()
	a, err := s.Messages.Append(t.Context(), user, conversation.Append{SessionID: id, Messages: messages})
	if err != nil {
		t.Fatalf("append to %s: %v", id, err)
	}
	return a
}

// newSession creates a session of alice with messages, and returns both as stored.
func newSession(
	t *testing.T, s *fixture, context, id string, contents ...string,
) (conversation.Session, []conversation.Message) {
	t.Helper()
	createSession(t, s, alice, context, id)
	if len(contents) == 0 {
		return readSession(t, s, id), nil
	}
	messages := appendMessages(t, s, alice, id, userMessages(contents...)...).Messages
	return readSession(t, s, id), messages
}

// readSession returns a session of alice.
func readSession(t *testing.T, s *fixture, id string) conversation.Session {
	t.Helper()
	session, err := s.Sessions.Session(t.Context(), alice, id)
	if err != nil {
		t.Fatalf("read session %s: %v", id, err)
	}
	return session
}

// listFunc reads one page of a list.
type listFunc[T any] func(conversation.Page) ([]T, conversation.Position, error)

// allPages reads a list to its end.
func allPages[T any](t *testing.T, page conversation.Page, list listFunc[T]) []T {
	t.Helper()
	var all []T
	for {
		items, next, err := list(page)
		check.OK(t, err)
		if len(items) > page.Limit {
			t.Fatalf("a page of %d, at most %d were asked for", len(items), page.Limit)
		}
		all = append(all, items...)
		if page.After = next; next == "" {
			return all
		}
		if len(items) == 0 {
			t.Fatal("a page before the last one is empty")
		}
	}
}

// allMessages reads all pages of a session's messages.
func allMessages(t *testing.T, s *fixture, user conversation.UserID, id string, page conversation.Page,
) []conversation.Message {
	t.Helper()
	return allPages(t, page, func(p conversation.Page) ([]conversation.Message, conversation.Position, error) {
		return s.Messages.Messages(t.Context(), user, id, p)
	})
}

// sameMessages compares messages. One that was read says by which rules it has no secret, one that was appended does
// not.
func sameMessages[M conversation.Message | []conversation.Message](t *testing.T, want, got M, what string) {
	t.Helper()
	read := cmpopts.IgnoreFields(conversation.Message{}, "CleanBy")
	if diff := cmp.Diff(want, got, read); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// checkComplete checks that the messages are seq 1 to n in order, with strictly increasing times.
func checkComplete(t *testing.T, messages []conversation.Message, n int) {
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

func idsOf[T any](items []T, id func(T) string) []string {
	ids := make([]string, len(items))
	for i, v := range items {
		ids[i] = id(v)
	}
	return ids
}
