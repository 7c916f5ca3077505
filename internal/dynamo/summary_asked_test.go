package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestAppendAsksForASummary appends up to the number of messages that brings a summary, and past it. One append in that
// many asks, also where one has more messages than that.
func TestAppendAsksForASummary(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	s := dynamotest.Open(t, table, dynamotest.FixedClock(), dynamo.WithSummaryEvery(3))
	_, err := s.Sessions.CreateSession(t.Context(), alice, conversation.NewSession{
		ID: "a", Context: "coach_conversation", CoachID: "c",
	}, noKey)
	if err != nil {
		t.Fatal(err)
	}
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
		if _, err := s.Messages.Append(t.Context(), alice, in); err != nil {
			t.Fatal(err)
		}
		if got := asks(); got != want {
			t.Errorf("asks: %v, want %v", got, want)
		}
	}
	say(1, false)
	say(1, false)
	say(1, true)
	say(1, false)
	say(5, true)
	session, err := s.Sessions.Session(t.Context(), alice, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Summaries.SaveSummary(t.Context(), alice, session, summaryOf(session, 9)); err != nil {
		t.Fatal(err)
	}
	if asks() {
		t.Error("a session asks for the summary that it has")
	}
	s = dynamotest.Open(t, table, dynamotest.FixedClock(),
		dynamo.WithSummaryEvery(3)) // another instance knows the summary
	say(2, false)
	say(1, true)
}
