package dynamo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestCalls checks which remote calls each operation makes. docs/reference/access-patterns.md lists them.
func TestCalls(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	var c dynamotest.CallCounter
	var s dynamotest.Stores
	restart := func() {
		s = dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: c.Call}, dynamotest.FixedClock())
	}
	restart()
	const batch, query, write = "BatchGetItem", "Query", "TransactWriteItems"
	var session conversation.Session
	question := conversation.NewMessage{Role: conversation.RoleUser, Content: "q"}
	answer := conversation.NewMessage{Role: conversation.RoleAssistant, Content: "a"}
	appendTurn := func(key string) error {
		return errorOf(s.Messages.Append(t.Context(), alice, conversation.Append{
			SessionID: "a", Messages: []conversation.NewMessage{question, answer},
			Idempotency: conversation.Idempotency{Scope: "s", Key: key, BodyHash: "h"},
		}))
	}
	page := conversation.Page{Limit: 50}
	for _, op := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"create", func() error {
			in := conversation.NewSession{ID: "a", Context: "coach_conversation", CoachID: "c"}
			return errorOf(s.Sessions.CreateSession(t.Context(), alice, in, noKey))
		}, []string{batch, write}}, // with the stage of the migration
		{"create another", func() error {
			in := conversation.NewSession{ID: "other", Context: "coach_conversation", CoachID: "c2"}
			return errorOf(s.Sessions.CreateSession(t.Context(), alice, in, noKey))
		}, []string{write}},
		{"append warm", func() error { return appendTurn("") }, []string{write}},
		{"append warm with a key", func() error { return appendTurn("k") }, []string{write}},
		{"append again with the key", func() error { return appendTurn("k") }, []string{write, batch}},
		{"append cold", func() error { restart(); return appendTurn("") }, []string{batch, write}},
		{"append after one of another process", func() error {
			other := dynamotest.Open(t, table, dynamotest.FixedClock())
			if _, err := other.Messages.Append(t.Context(), alice, dynamotest.OneMessage("a", "q")); err != nil {
				return err
			}
			return appendTurn("")
		}, []string{write, write}},
		{"append after a conflict", func() error { return appendTurn("") }, []string{batch, write}},
		{"append warm again", func() error { return appendTurn("") }, []string{write}},
		{"turn", func() error {
			turn, err := s.Turns.BeginTurn(t.Context(), alice, conversation.Append{
				SessionID: "a", Messages: []conversation.NewMessage{question},
				Idempotency: conversation.Idempotency{Scope: "chat", Key: "k", BodyHash: "h"},
			}, time.Minute)
			if err != nil {
				return err
			}
			return errorOf(s.Turns.FinishTurn(t.Context(), alice, turn, answer))
		}, []string{write, write}},
		{"session by id", func() error {
			restart()
			return errorOf(s.Sessions.Session(t.Context(), alice, "a"))
		}, []string{batch}},
		{"open", func() (err error) {
			session, _, err = s.PromptSource.Open(t.Context(), alice, "coach_conversation", "a")
			return err
		}, []string{batch}},
		{"tail", func() error {
			return errorOf(s.PromptSource.MessagesBefore(t.Context(), alice, session, conversation.Message{}, 5))
		}, []string{query}},
		{"messages after", func() error {
			return errorOf(s.Summaries.MessagesAfter(t.Context(), alice, session, conversation.Watermark{Seq: 2}, 50))
		}, []string{query}},
		{"messages", func() error {
			_, _, err := s.Messages.Messages(t.Context(), alice, "a", page)
			return err
		}, []string{batch, query}},
		{"timeline", func() error {
			_, _, err := s.Messages.Timeline(t.Context(), alice, conversation.Range{}, page)
			return err
		}, []string{query, batch}},
		{"timeline for a caller who has checked the generation", func() error {
			_, _, err := s.Messages.Timeline(t.Context(), alice, conversation.Range{Unerased: true}, page)
			return err
		}, []string{query}},
		{"recent sessions", func() error {
			recent := conversation.RecentSessions{Since: start.Add(-time.Hour)}
			_, _, err := s.Recall.RecentSessions(t.Context(), alice, recent, conversation.Page{Limit: 10})
			return err
		}, []string{query, batch}},
		{"sessions with a coach, beside 30 without messages and 22 with another coach", func() error {
			addOtherSessions(t, dynamotest.StoresOf(dynamo.New(dynamodbtest.Client(t), table, dynamotest.FixedClock())))
			_, _, err := s.PromptSource.CoachSessions(t.Context(), alice, conversation.CoachSessions{CoachID: "c"},
				conversation.Page{Limit: 20})
			return err
		}, []string{query, batch}},
		{"messages before one", func() error {
			return errorOf(s.PromptSource.MessagesBefore(t.Context(), alice, session, conversation.Message{Seq: 3}, 1))
		}, []string{query}},
		{"long-term", func() error { return errorOf(s.PromptSource.LongTerm(t.Context(), alice)) }, []string{query}},
		{"access", func() error { return errorOf(s.Recall.Access(t.Context(), alice)) }, []string{batch}},
		{"change", func() error {
			title := "t"
			return errorOf(s.Sessions.UpdateSession(t.Context(), alice, "a", conversation.SessionChange{Title: &title}))
		}, []string{batch, write}},
		{"put profile", func() error {
			return errorOf(s.Profiles.Put(t.Context(), alice, longterm.Profile{}))
		}, []string{write}},
		{"save summary", func() error {
			return s.Summaries.SaveSummary(t.Context(), alice, session, summaryOf(session, 1))
		}, []string{write}},
	} {
		c.Take()
		if err := op.do(); err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
		got := c.Take()
		slices.Sort(got)
		slices.Sort(op.want)
		check.Same(t, op.want, got, "%s", op.name)
	}
}

// TestMessagesAfterReadsOnlyThem checks that a reader which goes on after a watermark does not read what comes before
// it or long after it: the session has 2.4 MB, and one answer of DynamoDB 1 MB.
func TestMessagesAfterReadsOnlyThem(t *testing.T) {
	t.Parallel()
	var c dynamotest.CallCounter
	s := dynamotest.OpenIntercepted(t, dynamotest.Table(t), dynamotest.Interceptor{Call: c.Call}, dynamotest.FixedClock())
	in := conversation.NewSession{ID: "a", Context: "coach_conversation", CoachID: "c"}
	check.Got(s.Sessions.CreateSession(t.Context(), alice, in, noKey))(t)
	var last conversation.Appended
	var middle conversation.Watermark
	for range 12 {
		batch := make([]conversation.NewMessage, 50)
		for i := range batch {
			batch[i] = conversation.NewMessage{Role: conversation.RoleUser, Content: strings.Repeat("x", 4000)}
		}
		var err error
		last, err = s.Messages.Append(t.Context(), alice, conversation.Append{SessionID: "a", Messages: batch})
		check.OK(t, err)
		if m := last.Messages[49]; m.Seq == 300 {
			middle = conversation.Watermark{Seq: m.Seq, At: m.Timestamp}
		}
	}
	c.Take()
	got, err := s.Summaries.MessagesAfter(t.Context(), alice, last.Session, middle, 20)
	if err != nil || len(got) != 20 || got[0].Seq != 301 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	if calls := c.Take(); len(calls) != 1 {
		t.Errorf("calls: %v", calls)
	}
}

// addOtherSessions adds 30 sessions without messages, and 22 sessions with another coach.
func addOtherSessions(t *testing.T, s dynamotest.Stores) {
	t.Helper()
	for i := range 52 {
		in := conversation.NewSession{ID: fmt.Sprint("other", i), Context: "coach_conversation", CoachID: "c"}
		if i >= 30 {
			in.CoachID = "d"
		}
		check.Got(s.Sessions.CreateSession(t.Context(), alice, in, noKey))(t)
		if i < 30 {
			continue
		}
		check.Got(s.Messages.Append(t.Context(), alice, dynamotest.OneMessage(in.ID, "q")))(t)
	}
}
