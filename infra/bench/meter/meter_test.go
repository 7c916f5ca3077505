package meter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
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

// meteredTable is a meter on such a table of the real engine.
type meteredTable struct {
	*testing.T
	*meter.Meter
	table *string
}

func newMeteredTable(t *testing.T) meteredTable {
	t.Helper()
	in := testTable()
	name := dynamodbtest.Table(t, in)
	in.TableName = aws.String(name)
	return meteredTable{t, meter.New(dynamodbtest.Client(t), in), in.TableName}
}

// expect runs an operation and compares what it took.
func (m meteredTable) expect(what string, calls int, units capacity.Units, operation func(context.Context) error) {
	m.Helper()
	got, err := m.Measure(m.Context(), operation)
	if err != nil {
		m.Fatalf("%s: %v", what, err)
	}
	if got.Calls != calls || got.Units != units {
		m.Errorf("%s took %d calls and %+v, want %d and %+v", what, got.Calls, got.Units, calls, units)
	}
	if got.Wall <= 0 {
		m.Errorf("%s took %v", what, got.Wall)
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

func (m meteredTable) putItem(it capacity.Item) *types.Put {
	return &types.Put{TableName: m.table, Item: it}
}

// activity updates the session's activeAt, which is a key of an index.
func (m meteredTable) activity(at string) *types.Update {
	return &types.Update{
		TableName: m.table, Key: key("conversation#c"), UpdateExpression: aws.String("SET activeAt = :a"),
		ExpressionAttributeValues: capacity.Item{":a": s(at)},
	}
}

func (m meteredTable) transact(items ...types.TransactWriteItem) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := m.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		return err
	}
}

func TestTransactionsAreCounted(t *testing.T) {
	t.Parallel()
	m := newMeteredTable(t)
	m.expect("a session", 1, capacity.Units{Write: 2 + 1},
		m.transact(types.TransactWriteItem{Put: m.putItem(session("1"))}))
	turn := func(n int, active string) func(context.Context) error {
		return m.transact(
			types.TransactWriteItem{Put: m.putItem(message(fmt.Sprint("msg#", n), fmt.Sprint(n), 100))},
			types.TransactWriteItem{Put: m.putItem(message(fmt.Sprint("msg#", n+1), fmt.Sprint(n+1), 1500))},
			types.TransactWriteItem{Update: m.activity(active)},
		)
	}
	m.expect("a turn", 1, capacity.Units{Write: 2*(1+2+1) + 1 + 2}, turn(1, "1"))
	m.expect("a turn that moves the session", 1, capacity.Units{Write: 2*(1+2+1) + 1 + 2 + 2}, turn(3, "2"))
	m.expect("a check", 1, capacity.Units{Write: 4}, m.transact(types.TransactWriteItem{
		ConditionCheck: &types.ConditionCheck{
			TableName: m.table, Key: key("msg#2"), ConditionExpression: aws.String("attribute_exists(pk)"),
		},
	}))
	m.expect("a deletion", 1, capacity.Units{Write: 4 + 2}, m.transact(types.TransactWriteItem{
		Delete: &types.Delete{TableName: m.table, Key: key("msg#2")},
	}))
	m.expect("a deletion of what is gone", 1, capacity.Units{Write: 2}, m.transact(types.TransactWriteItem{
		Delete: &types.Delete{TableName: m.table, Key: key("msg#2")},
	}))
}

func TestReadsAreCounted(t *testing.T) {
	t.Parallel()
	m := newMeteredTable(t)
	write := func(ctx context.Context) error {
		for i := range 4 {
			if _, err := m.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: m.table, Item: message(fmt.Sprint("msg#", i), fmt.Sprint(i), 3000),
			}); err != nil {
				return err
			}
		}
		return nil
	}
	check.Got(m.Measure(t.Context(), write))(t)
	m.expect("a get", 1, capacity.Units{Read: 0.5}, func(ctx context.Context) error {
		_, err := m.GetItem(ctx, &dynamodb.GetItemInput{TableName: m.table, Key: key("msg#1")})
		return err
	})
	m.expect("a consistent batch with one absent", 1, capacity.Units{Read: 3}, func(ctx context.Context) error {
		_, err := m.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			*m.table: {
				Keys:           []map[string]types.AttributeValue{key("msg#1"), key("msg#2"), key("none")},
				ConsistentRead: aws.Bool(true),
			},
		}})
		return err
	})
	m.expect("a query of an index that projects all", 1, capacity.Units{Read: 1.5}, func(ctx context.Context) error {
		_, err := m.Query(ctx, &dynamodb.QueryInput{
			TableName: m.table, IndexName: aws.String("messages"), Limit: aws.Int32(3),
			KeyConditionExpression:    aws.String("sourceId = :s"),
			ExpressionAttributeValues: capacity.Item{":s": s("u#conversation#c")},
		})
		return err
	})
}
