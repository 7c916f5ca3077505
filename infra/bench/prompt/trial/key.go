package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// queryKey and batchKey tell requests apart by all that a store's reads vary.

func queryKey(in *dynamodb.QueryInput) string {
	return strings.Join([]string{
		"query", aws.ToString(in.IndexName), aws.ToString(in.KeyConditionExpression), fmt.Sprint(aws.ToBool(in.ScanIndexForward)),
		fmt.Sprint(aws.ToInt32(in.Limit)), values(in.ExpressionAttributeValues), values(in.ExclusiveStartKey),
	}, "|")
}

func batchKey(in *dynamodb.BatchGetItemInput) string {
	var b strings.Builder
	b.WriteString("batch")
	for _, asked := range in.RequestItems {
		for _, key := range asked.Keys {
			b.WriteString("|" + values(key))
		}
	}
	return b.String()
}

func values(in map[string]types.AttributeValue) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(in)) {
		switch v := in[name].(type) {
		case *types.AttributeValueMemberS:
			b.WriteString(name + "=" + v.Value + ";")
		case *types.AttributeValueMemberN:
			b.WriteString(name + "=" + v.Value + ";")
		}
	}
	return b.String()
}
