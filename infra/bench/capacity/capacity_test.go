package capacity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
)

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func n(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

func list(v ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: v}
}

// testTable has one index of each projection.
func testTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			attribute("pk"), attribute("sk"), attribute("a"), attribute("b"), attribute("c"),
		},
		KeySchema: schema("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			index("all", types.Projection{ProjectionType: types.ProjectionTypeAll}, "a"),
			index("keys", types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}, "pk", "b"),
			index("some", types.Projection{
				ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"note"},
			}, "c"),
		},
	}
}

func attribute(name string) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS}
}

func schema(names ...string) []types.KeySchemaElement {
	kinds := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}
	var out []types.KeySchemaElement
	for i, name := range names {
		out = append(out, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kinds[i]})
	}
	return out
}

func index(name string, p types.Projection, key ...string) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{IndexName: aws.String(name), KeySchema: schema(key...), Projection: &p}
}

func record(attributes ...string) capacity.Item {
	it := capacity.Item{"pk": s("p"), "sk": s("s")}
	for i := 0; i < len(attributes); i += 2 {
		it[attributes[i]] = s(attributes[i+1])
	}
	return it
}

func TestTransactionsDoubleTheTableAndNotTheIndexes(t *testing.T) {
	t.Parallel()
	w := capacity.Write{Table: 3, Indexes: map[string]int{"all": 3, "keys": 1}}
	if got := w.Alone(); got != (capacity.Units{Write: 7}) {
		t.Errorf("alone it is %+v, want 7 write units", got)
	}
	if got := w.InTransaction(); got != (capacity.Units{Write: 10}) {
		t.Errorf("in a transaction it is %+v, want 10 write units", got)
	}
}
