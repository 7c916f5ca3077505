package dynamo_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// history is all that a user has stored. A test that begins many times with the same records stores them once, because
// a copy takes one call.
type history struct {
	user    conversation.UserID
	records []dynamotest.Record
}

// historyOf reads a history. The user's id must be part of no other text in it.
func historyOf(t testing.TB, table string, user conversation.UserID) history {
	t.Helper()
	return history{user, dynamotest.Records(t, table, user)}
}

// giveTo stores a copy of the history, of at most 25 records, for another user of the table. The copy is due in the
// shards of the first user's records.
func (h history) giveTo(t testing.TB, table string, user conversation.UserID) {
	t.Helper()
	var puts []types.WriteRequest
	for _, r := range h.records {
		copied := maps.Clone(r)
		for name, v := range r {
			if text, ok := v.(*types.AttributeValueMemberS); ok {
				value := strings.Replace(text.Value, string(h.user), string(user), 1)
				copied[name] = &types.AttributeValueMemberS{Value: value}
			}
		}
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: copied}})
	}
	out, err := dynamodbtest.Client(t).BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{table: puts},
	})
	if err != nil || len(out.UnprocessedItems) > 0 {
		t.Fatalf("%d of %d records are left: %v", len(out.UnprocessedItems[table]), len(puts), err)
	}
}
