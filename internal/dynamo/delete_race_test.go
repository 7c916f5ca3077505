package dynamo_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// before returns an interceptor's call that runs act once, before the first call of one operation.
func before(op string, act func()) func(string, func() error) error {
	var once sync.Once
	return func(of string, run func() error) error {
		if of == op {
			once.Do(act)
		}
		return run()
	}
}

// messageOf returns the only message of a session.
func messageOf(t *testing.T, s dynamotest.Stores, session string) conversation.Message {
	t.Helper()
	messages, _, err := s.Messages.Messages(t.Context(), alice, session, conversation.Page{Limit: 2})
	if err != nil || len(messages) != 1 {
		t.Fatalf("messages %+v, %v", messages, err)
	}
	return messages[0]
}

// TestDeletionMeetsNewSummary saves a summary of a message between the read and the write of the message's deletion.
// The summary may contain the message, so it is deleted too, and nothing of it is left in the session's record.
func TestDeletionMeetsNewSummary(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	other := dynamotest.Open(t, table, dynamotest.FixedClock())
	session := dynamotest.NewSession(t, other, alice, "workout_log", "a", "secret")
	s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: before("TransactWriteItems", func() {
		err := other.Summaries.SaveSummary(t.Context(), alice, session, summary.Summary{
			RecordType: conversation.WorkoutSummary, SubjectID: "a", SessionID: "a", Context: "workout_log", CoachID: "c1",
			Text: "of secret", Kind: conversation.ByModel, InProgress: true, CoveredThrough: 1,
			CoveredAt: session.LastMessageAt, OccurredAt: session.LastMessageAt, UpdatedAt: start,
			SessionVersion: session.Version, OwnFields: map[string]any{"of": "secret"}, Tags: []string{"secret"},
			Days: []conversation.DaySummary{{From: start, To: start, Text: "of secret"}},
		})
		if err != nil {
			t.Error(err)
		}
	})}, dynamotest.FixedClock())
	m := messageOf(t, other, "a")
	check.Got(s.Deletion.DeleteMessage(t.Context(), alice, m, nil, start))(t)
	after, err := other.Sessions.Session(t.Context(), alice, "a")
	if err != nil || after.Summary != nil || after.MessageCount != 0 {
		t.Errorf("session %+v with summary %+v, %v", after, after.Summary, err)
	}
	appContext := check.Got(conversation.AppContextOf("workout_log"))(t)
	var kept map[string]any
	check.OK(t, attributevalue.UnmarshalMap(record(t, table, appContext.Prefix+"a"), &kept))
	if text := fmt.Sprint(kept); strings.Contains(text, "secret") || kept["status"] == nil {
		t.Errorf("the session's record is %s", text)
	}
}

// TestErasureMeetsNewRecord writes a record again between the erasure's read and its deletion of the old one.
func TestErasureMeetsNewRecord(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	other := dynamotest.Open(t, table, dynamotest.FixedClock())
	put := func(name string) {
		if _, err := other.Profiles.Put(t.Context(), alice, longterm.Profile{Name: name}); err != nil {
			t.Error(err)
		}
	}
	put("old")
	if _, held, err := other.Erasures.BeginErasure(t.Context(), alice, start); err != nil || !held {
		t.Fatalf("held %v, %v", held, err)
	}
	s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: before("DeleteItem", func() { put("new") })},
		dynamotest.FixedClock())
	count := func(string, int) {}
	for done := false; !done; {
		var err error
		done, err = s.Erasures.EraseRecords(t.Context(), alice, 1, start.Add(time.Minute), count)
		check.OK(t, err)
	}
	if p, err := other.Profiles.Get(t.Context(), alice); err != nil || p.Name != "new" {
		t.Errorf("profile %+v, %v", p, err)
	}
}
