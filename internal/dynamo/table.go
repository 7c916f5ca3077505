package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The names of the table's indexes and of its TTL attribute.
const (
	// BySource holds messages by sourceId and timestamp, with all attributes.
	BySource = "sourceId-timestamp"
	// Recent holds sessions by pk and activeAt, keys only.
	Recent = "recent"
	// CoachRecent holds the sessions that have messages by coachKey and activeAt, keys only.
	CoachRecent = "coach-recent"
	// DueIndex holds the sessions and tombstones that the sweep has to look at by dueShard and dueAt, keys only.
	DueIndex = "due"

	// TTLAttribute is the epoch second after which a record counts as deleted. DynamoDB deletes it some days later.
	TTLAttribute = "expiresAt"
)

// CreateTableInput describes the table and its indexes. The deployed table also has a TTL on TTLAttribute,
// point-in-time recovery and deletion protection, which are set separately.
func CreateTableInput(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			attribute(attrPK, types.ScalarAttributeTypeS),
			attribute(attrSK, types.ScalarAttributeTypeS),
			attribute(attrSourceID, types.ScalarAttributeTypeS),
			attribute(attrTimestamp, types.ScalarAttributeTypeS),
			attribute(attrActiveAt, types.ScalarAttributeTypeS),
			attribute(attrCoachKey, types.ScalarAttributeTypeS),
			attribute(attrDueShard, types.ScalarAttributeTypeN),
			attribute(attrDueAt, types.ScalarAttributeTypeS),
		},
		KeySchema: schema(attrPK, attrSK),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			index(BySource, attrSourceID, attrTimestamp, types.ProjectionTypeAll),
			index(Recent, attrPK, attrActiveAt, types.ProjectionTypeKeysOnly),
			index(CoachRecent, attrCoachKey, attrActiveAt, types.ProjectionTypeKeysOnly),
			index(DueIndex, attrDueShard, attrDueAt, types.ProjectionTypeKeysOnly),
		},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled:  aws.Bool(true),
			StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}
}

func attribute(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
}

func schema(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}

func index(name, hash, sort string, projection types.ProjectionType) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{
		IndexName:  aws.String(name),
		KeySchema:  schema(hash, sort),
		Projection: &types.Projection{ProjectionType: projection},
	}
}
