package dynamodbtest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestTablesAreSeparate(t *testing.T) {
	t.Parallel()
	input := &dynamodb.CreateTableInput{
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	}
	first, second := dynamodbtest.Table(t, input), dynamodbtest.Table(t, input)
	if first == second {
		t.Fatalf("two tables share the name %q", first)
	}
	client := dynamodbtest.Client(t)
	item := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}
	check.Got(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &first, Item: item}))(t)
	got := check.Got(client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &second, Key: item}))(t)
	if got.Item != nil {
		t.Errorf("the second table holds the first one's item: %v", got.Item)
	}
}
