package meter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

// testTable has an index that projects all and one that projects keys.
func testTable() *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		BillingMode: types.BillingModePayPerRequest, KeySchema: schema("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			index("messages", types.ProjectionTypeAll, "sourceId", "timestamp"),
			index("sessions", types.ProjectionTypeKeysOnly, "pk", "activeAt"),
		},
	}
	for _, name := range []string{"pk", "sk", "sourceId", "timestamp", "activeAt"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS,
		})
	}
	return in
}

func index(name string, p types.ProjectionType, hash, sort string) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{
		IndexName: aws.String(name), KeySchema: schema(hash, sort), Projection: &types.Projection{ProjectionType: p},
	}
}

func schema(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}

// bench is a meter on such a table of the real engine.
type bench struct {
	*testing.T
	*meter.Meter
	table *string
}

func newBench(t *testing.T) bench {
	t.Helper()
	in := testTable()
	name := dynamodbtest.Table(t, in)
	in.TableName = aws.String(name)
	return bench{t, meter.New(dynamodbtest.Client(t), in), in.TableName}
}

// expect runs an operation and compares what it took.
func (b bench) expect(what string, calls int, units capacity.Units, operation func(context.Context) error) {
	b.Helper()
	got, err := b.Measure(b.Context(), operation)
	if err != nil {
		b.Fatalf("%s: %v", what, err)
	}
	if got.Calls != calls || got.Units != units {
		b.Errorf("%s took %d calls and %+v, want %d and %+v", what, got.Calls, got.Units, calls, units)
	}
	if got.Wall <= 0 {
		b.Errorf("%s took %v", what, got.Wall)
	}
}

func message(sk, at string, bytes int) capacity.Item {
	return capacity.Item{
		"pk": s("user#u"), "sk": s(sk), "sourceId": s("u#conversation#c"), "timestamp": s(at),
		"content": s(strings.Repeat("x", bytes)),
	}
}

func session(activeAt string) capacity.Item {
	return capacity.Item{"pk": s("user#u"), "sk": s("conversation#c"), "activeAt": s(activeAt)}
}

func key(sk string) capacity.Item { return capacity.Item{"pk": s("user#u"), "sk": s(sk)} }

func (b bench) putItem(it capacity.Item) *types.Put { return &types.Put{TableName: b.table, Item: it} }

// activity updates the session's activeAt, which is a key of an index.
func (b bench) activity(at string) *types.Update {
	return &types.Update{
		TableName: b.table, Key: key("conversation#c"), UpdateExpression: aws.String("SET activeAt = :a"),
		ExpressionAttributeValues: capacity.Item{":a": s(at)},
	}
}

func (b bench) transact(items ...types.TransactWriteItem) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := b.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		return err
	}
}

func TestTransactionsAreCounted(t *testing.T) {
	b := newBench(t)
	b.expect("a session", 1, capacity.Units{Write: 2 + 1}, b.transact(types.TransactWriteItem{Put: b.putItem(session("1"))}))
	turn := func(n int, active string) func(context.Context) error {
		return b.transact(
			types.TransactWriteItem{Put: b.putItem(message(fmt.Sprint("msg#", n), fmt.Sprint(n), 100))},
			types.TransactWriteItem{Put: b.putItem(message(fmt.Sprint("msg#", n+1), fmt.Sprint(n+1), 1500))},
			types.TransactWriteItem{Update: b.activity(active)},
		)
	}
	b.expect("a turn", 1, capacity.Units{Write: 2*(1+2+1) + 1 + 2}, turn(1, "1"))
	b.expect("a turn that moves the session", 1, capacity.Units{Write: 2*(1+2+1) + 1 + 2 + 2}, turn(3, "2"))
	b.expect("a check", 1, capacity.Units{Write: 4}, b.transact(types.TransactWriteItem{
		ConditionCheck: &types.ConditionCheck{
			TableName: b.table, Key: key("msg#2"), ConditionExpression: aws.String("attribute_exists(pk)"),
		},
	}))
	b.expect("a deletion", 1, capacity.Units{Write: 4 + 2}, b.transact(types.TransactWriteItem{
		Delete: &types.Delete{TableName: b.table, Key: key("msg#2")},
	}))
	b.expect("a deletion of what is gone", 1, capacity.Units{Write: 2}, b.transact(types.TransactWriteItem{
		Delete: &types.Delete{TableName: b.table, Key: key("msg#2")},
	}))
}

func TestRefusedWritesAreChargedAndChangeNothing(t *testing.T) {
	b := newBench(t)
	b.expect("a message", 1, capacity.Units{Write: 4 + 2}, b.transact(
		types.TransactWriteItem{Put: b.putItem(message("msg#1", "1", 1500))},
	))
	again := b.putItem(message("msg#1", "2", 10))
	again.ConditionExpression = aws.String("attribute_not_exists(pk)")
	b.expect("a cancelled transaction", 1, capacity.Units{Write: 4}, func(ctx context.Context) error {
		return refused(b.transact(types.TransactWriteItem{Put: again})(ctx))
	})
	b.expect("a failed condition", 1, capacity.Units{Write: 2}, func(ctx context.Context) error {
		_, err := b.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: b.table, Item: again.Item, ConditionExpression: again.ConditionExpression,
		})
		return refused(err)
	})
	b.expect("an item that is too large", 1, capacity.Units{}, func(ctx context.Context) error {
		_, err := b.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: b.table, Item: message("msg#2", "2", capacity.MaxItemBytes),
		})
		return refused(err)
	})
}

// refused turns the expected error into none, and its absence into one.
func refused(err error) error {
	if err == nil {
		return errors.New("it was not refused")
	}
	return nil
}

func TestSingleWritesAreCounted(t *testing.T) {
	b := newBench(t)
	b.expect("a put", 1, capacity.Units{Write: 3 + 3}, func(ctx context.Context) error {
		_, err := b.PutItem(ctx, &dynamodb.PutItemInput{TableName: b.table, Item: message("msg#1", "1", 2500)})
		return err
	})
	b.expect("two updates of one record", 2, capacity.Units{Write: (3 + 3) + (3 + 3)}, func(ctx context.Context) error {
		for _, text := range []string{"a", strings.Repeat("b", 10)} {
			if _, err := b.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: b.table, Key: key("msg#1"), UpdateExpression: aws.String("SET note = :t"),
				ExpressionAttributeValues: capacity.Item{":t": s(text)},
			}); err != nil {
				return err
			}
		}
		return nil
	})
	b.expect("a batch", 1, capacity.Units{Write: (1 + 1) + (3 + 3)}, func(ctx context.Context) error {
		_, err := b.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
			*b.table: {
				{PutRequest: &types.PutRequest{Item: message("msg#2", "2", 10)}},
				{DeleteRequest: &types.DeleteRequest{Key: key("msg#1")}},
			},
		}})
		return err
	})
	b.expect("a deletion", 1, capacity.Units{Write: 2}, func(ctx context.Context) error {
		_, err := b.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: b.table, Key: key("msg#2")})
		return err
	})
}

func TestReadsAreCounted(t *testing.T) {
	b := newBench(t)
	write := func(ctx context.Context) error {
		for i := range 4 {
			if _, err := b.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: b.table, Item: message(fmt.Sprint("msg#", i), fmt.Sprint(i), 3000),
			}); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := b.Measure(t.Context(), write); err != nil {
		t.Fatal(err)
	}
	b.expect("a get", 1, capacity.Units{Read: 0.5}, func(ctx context.Context) error {
		_, err := b.GetItem(ctx, &dynamodb.GetItemInput{TableName: b.table, Key: key("msg#1")})
		return err
	})
	b.expect("a consistent batch with one absent", 1, capacity.Units{Read: 3}, func(ctx context.Context) error {
		_, err := b.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			*b.table: {
				Keys:           []map[string]types.AttributeValue{key("msg#1"), key("msg#2"), key("none")},
				ConsistentRead: aws.Bool(true),
			},
		}})
		return err
	})
	b.expect("a query of an index that projects all", 1, capacity.Units{Read: 1.5}, func(ctx context.Context) error {
		_, err := b.Query(ctx, &dynamodb.QueryInput{
			TableName: b.table, IndexName: aws.String("messages"), Limit: aws.Int32(3),
			KeyConditionExpression:    aws.String("sourceId = :s"),
			ExpressionAttributeValues: capacity.Item{":s": s("u#conversation#c")},
		})
		return err
	})
}

func TestWhatCannotBeAccountedForEndsTheBooks(t *testing.T) {
	b := newBench(t)
	_, err := b.Measure(t.Context(), func(ctx context.Context) error {
		_, err := b.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("another-table"), Item: key("x")})
		return refused(err)
	})
	if err == nil {
		t.Fatal("a write to a table that the meter does not know was counted")
	}
	if _, again := b.Measure(t.Context(), func(context.Context) error { return nil }); again == nil {
		t.Error("a later measurement counts although the books are not whole")
	}
}

func TestFilteredQueriesCannotBeAccountedFor(t *testing.T) {
	b := newBench(t)
	_, err := b.Measure(t.Context(), func(ctx context.Context) error {
		if _, err := b.PutItem(ctx, &dynamodb.PutItemInput{TableName: b.table, Item: message("msg#1", "1", 1)}); err != nil {
			t.Error(err)
		}
		_, err := b.Query(ctx, &dynamodb.QueryInput{
			TableName: b.table, KeyConditionExpression: aws.String("pk = :p"),
			FilterExpression:          aws.String("attribute_not_exists(content)"),
			ExpressionAttributeValues: capacity.Item{":p": s("user#u")},
		})
		if err != nil {
			t.Error(err)
		}
		return nil
	})
	if err == nil {
		t.Error("a filter's records were counted as if they had been returned")
	}
}
