// Package dynamotest gives tests stores on a new table of a real engine.
package dynamotest

import (
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// New returns the stores of a table of this test's own. The package's TestMain has to call dynamodbtest.Main.
func New(t testing.TB, options ...dynamo.Option) Stores {
	t.Helper()
	return Open(t, Table(t), options...)
}

// NewInBubble is New for a test in a bubble of testing/synctest, whose time stands still while the engine works.
func NewInBubble(t testing.TB, options ...dynamo.Option) Stores {
	t.Helper()
	name := Table(t)
	return StoresOf(dynamo.New(dynamodbtest.BubbleClient(t), name, options...))
}

// Open returns the stores of an existing table.
func Open(t testing.TB, table string, options ...dynamo.Option) Stores {
	t.Helper()
	return StoresOf(dynamo.New(dynamodbtest.Client(t), table, append([]dynamo.Option{Adopting()}, options...)...))
}

// StoresOf returns all stores of a DB.
func StoresOf(db *dynamo.DB) Stores {
	return Stores{
		Sessions: dynamo.NewSessionStore(db), Messages: dynamo.NewMessageStore(db), Turns: dynamo.NewTurnStore(db),
		Profiles: dynamo.NewProfileStore(db), Seeds: dynamo.NewSeedStore(db),
		UserSummaries: dynamo.NewUserSummaryStore(db), Preferences: dynamo.NewPreferencesStore(db),
		Coaches: dynamo.NewCoachStore(db), Goals: dynamo.NewGoalStore(db), CheckIns: dynamo.NewCheckInStore(db),
		Memories: dynamo.NewMemoryStore(db), Todos: dynamo.NewTodoStore(db),
		DrawnMemories: dynamo.NewMemoryStore(db).WithoutTrace(), DrawnTodos: dynamo.NewTodoStore(db).WithoutTrace(),
		Documents:  dynamo.NewDocumentStore(db),
		Extraction: dynamo.NewExtractionStore(db), Corrector: dynamo.NewMemoryHistory(db),
		Quota:     dynamo.NewQuotaStore(db),
		Summaries: dynamo.NewSummarySource(db), Spines: dynamo.NewSpineStore(db),
		Indexing: dynamo.NewIndexingSource(db), Recall: dynamo.NewRecallSource(db),
		PromptSource: dynamo.NewPromptSource(db), Prompts: dynamo.NewPromptStore(db),
		Deletion:   dynamo.NewDeletionStore(db),
		Tombstones: dynamo.NewTombstoneStore(db), Erasures: dynamo.NewErasureStore(db),
		Due: dynamo.NewDueStore(db),
	}
}

// Table creates a table for this test and returns its name. It has no stream, because each stream slows down all later
// writes to the local engine.
func Table(t testing.TB) string {
	t.Helper()
	in := table.CreateTableInput("throughline")
	in.StreamSpecification = nil
	return dynamodbtest.Table(t, in)
}

// Keys returns the sort keys of every record in a user's partition, expired ones and an app's own included.
func Keys(t testing.TB, table string, user conversation.UserID) []string {
	t.Helper()
	var keys []string
	for _, it := range Records(t, table, user) {
		if sk, ok := it["sk"].(*types.AttributeValueMemberS); ok {
			keys = append(keys, sk.Value)
		}
	}
	return keys
}

// Records returns every record in a user's partition, in the order of their keys.
func Records(t testing.TB, table string, user conversation.UserID) (all []Record) {
	t.Helper()
	in := &dynamodb.QueryInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: "user#" + string(user)},
		},
	}
	for pages := dynamodb.NewQueryPaginator(dynamodbtest.Client(t), in); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Items...)
	}
	return all
}

// Record is a record as it is stored.
type Record = map[string]types.AttributeValue

// Put stores a record of the app's own.
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
