package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// lostAnswers opens the stores on a table where the answers of the first two transactions are lost. DynamoDB takes the
// repeated one for another transaction.
func lostAnswers(t *testing.T, table string) *dynamotest.FailingCalls {
	t.Helper()
	stores := dynamotest.Open(t, table, dynamotest.FixedClock())
	dynamotest.NewSession(t, stores, alice, "coach_conversation", "a", "one", "two",
		"three")
	return &dynamotest.FailingCalls{
		Op:   dynamotest.Transact,
		Errs: []error{dynamotest.ErrNoAnswer, dynamotest.ErrNoAnswer}, CarriedOut: true,
	}
}

// contentsOf returns the contents of a session's messages, whose seqs may have gaps.
func contentsOf(t *testing.T, table, id string) (all []string) {
	t.Helper()
	page := conversation.Page{Limit: 50}
	messages, _, err := dynamotest.Open(t, table, dynamotest.FixedClock()).Messages.Messages(t.Context(), alice, id, page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		all = append(all, m.Content)
	}
	return all
}

// TestTruncationIsCarriedOutOnce loses answers of a truncation, with and without a key.
func TestTruncationIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "k"} {
		for _, replacement := range []string{"", "new"} {
			t.Run(fmt.Sprintf("%q,%q", key, replacement), func(t *testing.T) {
				t.Parallel()
				table := dynamotest.Table(t)
				calls := lostAnswers(t, table)
				s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: calls.Call, NewTokens: true},
					dynamotest.FixedClock())
				last := 1
				in := conversation.Truncation{
					SessionID: "a", LastN: &last, Idempotency: conversation.Idempotency{Scope: "s", Key: key, BodyHash: "h"},
				}
				want := []string{"one", "two"}
				if replacement != "" {
					in.Replacement = []conversation.NewMessage{{Role: conversation.RoleUser, Content: replacement}}
					want = append(want, replacement)
				}
				out, tombstone, err := s.Cuts.Truncate(t.Context(), alice, in, indexing.MessageVectorIDs, time.Now())
				if err != nil || len(out.Deleted) != 1 || tombstone.ID == "" || out.Session.MessageCount != len(want) {
					t.Fatalf("truncate: %+v, %v", out, err)
				}
				if diff := cmp.Diff(want, contentsOf(t, table, "a")); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestSessionIsClearedOnce loses answers of a call that empties a session. It still knows how many messages there were.
func TestSessionIsClearedOnce(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	calls := lostAnswers(t, table)
	s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: calls.Call, NewTokens: true},
		dynamotest.FixedClock())
	tombstone, err := s.Cuts.ClearSession(t.Context(), alice, "a", time.Now())
	if err != nil || tombstone.Session == nil || tombstone.Session.MessageCount != 3 {
		t.Errorf("clear: %+v, %v", tombstone, err)
	}
	if left := contentsOf(t, table, "a"); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// TestRepeatOfATruncationIsNotRefusedUnread repeats a truncation. Where the record of the first call cannot be read,
// the repeat is unavailable: the first call was carried out, so that a conflict would be wrong.
func TestRepeatOfATruncationIsNotRefusedUnread(t *testing.T) {
	t.Parallel()
	name := dynamotest.Table(t)
	stores := dynamotest.Open(t, name, dynamotest.FixedClock())
	dynamotest.NewSession(t, stores, alice, "coach_conversation", "a", "one", "two", "three")
	last, _, err := stores.Messages.Messages(t.Context(), alice, "a", conversation.Page{Limit: 1, Descending: true})
	if err != nil {
		t.Fatal(err)
	}
	one := 1
	in := conversation.Truncation{
		SessionID: "a", LastN: &one, Expected: []string{last[0].ID},
		Idempotency: conversation.Idempotency{Scope: "s", Key: "k", BodyHash: "h"},
	}
	if _, _, err := stores.Cuts.Truncate(t.Context(), alice, in, indexing.MessageVectorIDs, time.Now()); err != nil {
		t.Fatal(err)
	}
	reads := 0
	s := dynamotest.OpenIntercepted(t, name, dynamotest.Interceptor{Call: func(op string, run func() error) error {
		if op == dynamotest.BatchGet {
			if reads++; reads == 2 { // after the session
				return dynamotest.ErrNoAnswer
			}
		}
		return run()
	}}, dynamotest.FixedClock())
	_, _, err = s.Cuts.Truncate(t.Context(), alice, in, indexing.MessageVectorIDs, time.Now())
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("while the record cannot be read: %v", err)
	}
	out, _, err := s.Cuts.Truncate(t.Context(), alice, in, indexing.MessageVectorIDs, time.Now())
	if err != nil || !out.Replayed {
		t.Errorf("afterwards: %+v, %v", out, err)
	}
}
