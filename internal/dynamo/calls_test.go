package dynamo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/storetest"
)

// TestCalls holds how many remote calls each operation makes (design 4.1, 4.4 and 6).
func TestCalls(t *testing.T) {
	table := dynamotest.Table(t)
	var c counter
	warm := withSeam(t, table, seam{call: c.call}, atNow())
	cold := func() { warm = withSeam(t, table, seam{call: c.call}, atNow()) }
	const batch, query, update, write = "BatchGetItem", "Query", "UpdateItem", "TransactWriteItems"
	var session conversation.Session
	appendKey := func(key string) error {
		_, err := warm.Messages.Append(t.Context(), alice, conversation.Append{
			SessionID:   "a",
			Messages:    []conversation.NewMessage{{Role: conversation.User, Content: "q"}, {Role: conversation.Assistant, Content: "a"}},
			Idempotency: conversation.Idempotency{Scope: "s", Key: key, BodyHash: "h"},
		})
		return err
	}
	steps := []struct {
		name string
		do   func() error
		want []string
	}{
		{"create", func() error {
			_, err := warm.Sessions.CreateSession(t.Context(), alice, conversation.NewSession{ID: "a", Context: "coach_conversation", CoachID: "c"}, noKey)
			return err
		}, []string{write}},
		{"append warm", func() error { return appendKey("") }, []string{write}},
		{"append warm with a key", func() error { return appendKey("k") }, []string{write}},
		{"append again with the key", func() error { return appendKey("k") }, []string{write, batch, query}},
		{"append cold", func() error { cold(); return appendKey("") }, []string{batch, write}},
		{"turn", func() error {
			turn, err := warm.Turns.BeginTurn(t.Context(), alice, conversation.Append{
				SessionID: "a", Messages: []conversation.NewMessage{{Role: conversation.User, Content: "q"}},
				Idempotency: conversation.Idempotency{Scope: "chat", Key: "k", BodyHash: "h"},
			}, time.Minute)
			if err == nil {
				_, err = warm.Turns.FinishTurn(t.Context(), alice, turn, conversation.NewMessage{Role: conversation.Assistant, Content: "a"})
			}
			return err
		}, []string{write, write}},
		{"session by id", func() error { cold(); return second(warm.Sessions.Session(t.Context(), alice, "a")) }, []string{batch}},
		{"open", func() (err error) {
			session, _, err = warm.PromptSource.Open(t.Context(), alice, "coach_conversation", "a")
			return err
		}, []string{batch}},
		{"tail", func() error { return second(warm.PromptSource.Tail(t.Context(), alice, session, 5)) }, []string{query}},
		{"messages after", func() error { return second(warm.Summaries.MessagesAfter(t.Context(), alice, session, 2, 50)) }, []string{query}},
		{"messages", func() error {
			_, _, err := warm.Messages.Messages(t.Context(), alice, "a", conversation.Page{Limit: 50})
			return err
		}, []string{batch, query}},
		{"timeline", func() error {
			_, _, err := warm.Messages.Timeline(t.Context(), alice, conversation.Range{}, conversation.Page{Limit: 50})
			return err
		}, []string{query, batch}},
		{"timeline for who knows the generation", func() error {
			_, _, err := warm.Messages.Timeline(t.Context(), alice, conversation.Range{Unerased: true}, conversation.Page{Limit: 50})
			return err
		}, []string{query}},
		{"recent sessions", func() error {
			return second(warm.Recall.RecentSessions(t.Context(), alice, storetest.Now.Add(-time.Hour), 10))
		}, []string{query, batch}},
		{"sessions with a coach, beside 30 without messages and 22 with another coach", func() error {
			addOtherSessions(t, dynamotest.Stores(dynamo.New(dynamodbtest.Client(t), table, atNow())))
			_, _, err := warm.PromptSource.CoachSessions(t.Context(), alice, conversation.CoachSessions{CoachID: "c"},
				conversation.Page{Limit: 20})
			return err
		}, []string{query, batch}},
		{"messages before one", func() error {
			return second(warm.PromptSource.MessagesBefore(t.Context(), alice, session, conversation.Message{Seq: 3}, 1))
		}, []string{query}},
		{"long-term", func() error { return second(warm.PromptSource.LongTerm(t.Context(), alice)) }, []string{query}},
		{"access", func() error { return second(warm.Recall.Access(t.Context(), alice)) }, []string{batch}},
		{"change", func() error {
			title := "t"
			return second(warm.Sessions.UpdateSession(t.Context(), alice, "a", conversation.SessionChange{Title: &title}))
		}, []string{batch, write}},
		{"put profile", func() error { return second(warm.Profiles.Put(t.Context(), alice, longterm.Profile{})) }, []string{write}},
		{"save summary", func() error {
			return warm.Summaries.SaveSummary(t.Context(), alice, session, summaryOf(session, 1))
		}, []string{write}},
	}
	for _, step := range steps {
		c.take()
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(step.want)), slices.Sorted(slices.Values(c.take()))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// addOtherSessions adds 30 sessions without messages, and 22 sessions with another coach.
func addOtherSessions(t *testing.T, table storetest.Stores) {
	t.Helper()
	for i := range 52 {
		in := conversation.NewSession{ID: fmt.Sprint("other", i), Context: "coach_conversation", CoachID: "c"}
		if i >= 30 {
			in.CoachID = "d"
		}
		if _, err := table.Sessions.CreateSession(t.Context(), alice, in, noKey); err != nil {
			t.Fatal(err)
		}
		if i >= 30 {
			_, err := table.Messages.Append(t.Context(), alice, conversation.Append{
				SessionID: in.ID, Messages: []conversation.NewMessage{{Role: conversation.User, Content: "q"}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
