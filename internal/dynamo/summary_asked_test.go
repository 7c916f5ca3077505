package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestAppendAsksForASummary appends up to the number of messages that brings a summary, and past it. One append in that
// many asks, also where one has more messages than that.
func TestAppendAsksForASummary(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	s := dynamotest.Open(t, table, dynamotest.FixedClock(), dynamo.WithSummaryEvery(3))
	check.Got(s.Sessions.CreateSession(t.Context(), alice, conversation.NewSession{
		ID: "a", Context: "coach_conversation", CoachID: "c",
	}, noKey))(t)
	asks := func() bool {
		t.Helper()
		out, err := dynamodbtest.Client(t).GetItem(t.Context(), &dynamodb.GetItemInput{
			TableName: &table, Key: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "user#" + string(alice)},
				"sk": &types.AttributeValueMemberS{Value: "conversation#a"},
			},
		})
		if err != nil || out.Item == nil {
			t.Fatalf("session: %v, %v", out, err)
		}
		_, asked := out.Item["summaryAskedAt"]
		return asked
	}
	say := func(n int, want bool) {
		t.Helper()
		in := conversation.Append{SessionID: "a"}
		for range n {
			in.Messages = append(in.Messages, conversation.NewMessage{Role: conversation.RoleUser, Content: "x"})
		}
		check.Got(s.Messages.Append(t.Context(), alice, in))(t)
		check.Equal(t, want, asks(), "asks")
	}
	say(1, false)
	say(1, false)
	say(1, true)
	say(1, false)
	say(5, true)
	session := check.Got(s.Sessions.Session(t.Context(), alice, "a"))(t)
	check.OK(t, s.Summaries.SaveSummary(t.Context(), alice, session, summaryOf(session, 9)))
	if asks() {
		t.Error("a session asks for the summary that it has")
	}
	s = dynamotest.Open(t, table, dynamotest.FixedClock(),
		dynamo.WithSummaryEvery(3)) // another instance knows the summary
	say(2, false)
	say(1, true)
}
