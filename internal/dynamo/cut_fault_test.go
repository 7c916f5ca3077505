package dynamo_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestRepeatOfATruncationIsNotRefusedUnread repeats a truncation. Where the record of the first call cannot be read,
// the repeat is unavailable: the first call was carried out, so that a conflict would be wrong.
func TestRepeatOfATruncationIsNotRefusedUnread(t *testing.T) {
	t.Parallel()
	name := dynamotest.Table(t)
	stores := dynamotest.Open(t, name, dynamotest.FixedClock())
	dynamotest.NewSession(t, stores, alice, "coach_conversation", "a", "one", "two", "three")
	last, _, err := stores.Messages.Messages(t.Context(), alice, "a", conversation.Page{Limit: 1, Descending: true})
	check.OK(t, err)
	one := 1
	in := conversation.Truncation{
		SessionID: "a", LastN: &one, Expected: []string{last[0].ID},
		Idempotency: conversation.Idempotency{Scope: "s", Key: "k", BodyHash: "h"},
	}
	if _, _, err := stores.Deletion.Truncate(t.Context(), alice, in, indexing.MessageVectorIDs, time.Now()); err != nil {
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
	_, _, err = s.Deletion.Truncate(t.Context(), alice, in, indexing.MessageVectorIDs, time.Now())
	checkFault(t, err, fault.Unavailable, "while the record cannot be read")
	out, _, err := s.Deletion.Truncate(t.Context(), alice, in, indexing.MessageVectorIDs, time.Now())
	if err != nil || !out.Replayed {
		t.Errorf("afterwards: %+v, %v", out, err)
	}
}
