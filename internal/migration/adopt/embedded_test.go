package adopt_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestArraysHaveOtherWriters appends to arrays to which the app appends too, while answers are lost and a reader has
// read the session before it moves.
func TestArraysHaveOtherWriters(t *testing.T) {
	t.Parallel()
	for name, stage := range map[string]migration.Stage{
		"an app's own record": migration.Embedded, "a dual session": migration.Dual,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, network := newAppTable(t), &lossyNetwork{}
			s := dynamotest.OpenIntercepted(t, app.table, dynamotest.Interceptor{Call: network.call, NewTokens: true},
				dynamotest.FixedClock(),
				adopt.WithInitialStage(stage))
			dynamotest.Put(t, app.table, alice, "conversation#a", nil)
			write := func(content string) {
				t.Helper()
				if _, err := s.Messages.Append(t.Context(), alice, dynamotest.OneMessage("a", content)); err != nil {
					t.Fatalf("append %s: %v", content, err)
				}
			}
			write("1")
			addEntry(t, app, "2")
			write("3")
			network.lose(dynamotest.AnswerLost)
			write("4")
			session := check.Got(s.Sessions.Session(t.Context(), alice, "a"))(t)
			check.Got(adopt.Move(t.Context(), app.db, alice, "a", migration.InStore))(t)
			messages, err := s.PromptSource.MessagesBefore(t.Context(), alice, session, conversation.Message{}, 10)
			if err != nil || len(messages) != 4 {
				t.Fatalf("read %d messages, %v; want 4", len(messages), err)
			}
			for i, want := range []string{"1", "2", "3", "4"} {
				if messages[i].Content != want || messages[i].Seq != i+1 {
					t.Errorf("message %d is %q with seq %d", i+1, messages[i].Content, messages[i].Seq)
				}
			}
		})
	}
}

// addEntry appends to the array as the app's own code does.
func addEntry(t *testing.T, app *appTable, content string) {
	t.Helper()
	entry := &types.AttributeValueMemberM{Value: appRecord{
		"role": str("user"), "content": str(content),
	}}
	check.Got(dynamodbtest.Client(t).UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &app.table, Key: appRecord{
			"pk": str("user#" + string(alice)),
			"sk": str("conversation#a"),
		},
		UpdateExpression: aws.String("SET attributes.messages = list_append(attributes.messages, :e)"),
		ExpressionAttributeValues: appRecord{
			":e": &types.AttributeValueMemberL{Value: []types.AttributeValue{entry}},
		},
	}))(t)
}
