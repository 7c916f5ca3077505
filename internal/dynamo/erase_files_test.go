package dynamo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestErasureNamesEachFile erases a user in calls that die before or after one of their writes. The receipt has the
// files of all messages, each once, also of those that a call has deleted and not counted.
func TestErasureNamesEachFile(t *testing.T) {
	t.Parallel()
	const messages = 60
	for _, op := range []string{"UpdateItem", "BatchWriteItem"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			table := dynamotest.Table(t)
			s := dynamotest.Open(t, table, dynamotest.FixedClock())
			dynamotest.NewSession(t, s, alice, "coach_conversation", "a")
			var want []string
			for i := range messages {
				want = append(want, fmt.Sprintf("file-%02d", i))
				in := conversation.Append{SessionID: "a", Messages: []conversation.NewMessage{{
					Role:  conversation.RoleUser,
					Parts: []conversation.Part{{Type: conversation.FilePart, MediaType: "image/png", DataRef: want[i]}},
				}}}
				check.Got(s.Messages.Append(t.Context(), alice, in))(t)
			}
			p, _, err := s.Erasures.BeginErasure(t.Context(), alice, start)
			check.OK(t, err)
			failing := dynamotest.FailingCalls{Op: op, Errs: []error{nil, &types.ResourceNotFoundException{}}}
			dies := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: failing.Call}, dynamotest.FixedClock())
			erase := func(s dynamotest.Stores) (bool, error) {
				return s.Erasures.EraseRecords(t.Context(), alice, p.Generation, start.Add(time.Minute), func(string, int) {})
			}
			if done, err := erase(dies); err == nil || done {
				t.Fatalf("the call that dies: %v, %v", done, err)
			}
			if done, err := erase(s); err != nil || !done {
				t.Fatalf("the next one: %v, %v", done, err)
			}
			got, err := s.Erasures.Erasure(t.Context(), alice)
			slices.Sort(got.Files)
			if err != nil || !slices.Equal(got.Files, want) {
				t.Errorf("%d files %v, %v", len(got.Files), got.Files, err)
			}
			if again, _, err := s.Erasures.BeginErasure(t.Context(), alice, start); err != nil || len(again.Files) != messages {
				t.Errorf("an erasure that goes on has %d files, %v", len(again.Files), err)
			}
		})
	}
}
