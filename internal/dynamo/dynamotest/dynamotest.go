// Package dynamotest gives tests a store on a fresh table of a real engine.
package dynamotest

import (
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
)

// New returns a store on a table of this test's own. The package's TestMain has to call dynamodbtest.Main.
func New(t testing.TB, options ...dynamo.Option) *dynamo.Store {
	t.Helper()
	return dynamo.New(dynamodbtest.Client(t), Table(t), options...)
}

// Table creates a table for this test and returns its name.
func Table(t testing.TB) string {
	t.Helper()
	return dynamodbtest.Table(t, dynamo.CreateTableInput("throughline"))
}

// Keys returns the sort keys of every record in a user's partition, expired ones and an app's own included.
func Keys(t testing.TB, table string, user conversation.UserID) []string {
	t.Helper()
	pages := dynamodb.NewQueryPaginator(dynamodbtest.Client(t), &dynamodb.QueryInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "user#" + string(user)}},
	})
	var keys []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			if sk, ok := it["sk"].(*types.AttributeValueMemberS); ok {
				keys = append(keys, sk.Value)
			}
		}
	}
	return keys
}

// Put stores a record as an app of its own would, beside what the store knows.
func Put(t testing.TB, table string, user conversation.UserID, sk string, attributes map[string]types.AttributeValue) {
	t.Helper()
	it := map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "user#" + string(user)}, "sk": &types.AttributeValueMemberS{Value: sk},
	}
	maps.Copy(it, attributes)
	_, err := dynamodbtest.Client(t).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: it})
	if err != nil {
		t.Fatal(err)
	}
}
