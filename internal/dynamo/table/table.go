package table

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
	// CoachRecent holds the sessions that have messages by CoachKey and activeAt, keys only.
	CoachRecent = "coach-recent"
	// DueIndex holds the sessions and tombstones that the sweep has to look at by DueShard and dueAt, keys only.
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
			Attribute(AttrPK, types.ScalarAttributeTypeS),
			Attribute(AttrSK, types.ScalarAttributeTypeS),
			Attribute(AttrSourceID, types.ScalarAttributeTypeS),
			Attribute(AttrTimestamp, types.ScalarAttributeTypeS),
			Attribute(AttrActiveAt, types.ScalarAttributeTypeS),
			Attribute(AttrCoachKey, types.ScalarAttributeTypeS),
			Attribute(AttrDueShard, types.ScalarAttributeTypeN),
			Attribute(AttrDueAt, types.ScalarAttributeTypeS),
		},
		KeySchema: Schema(AttrPK, AttrSK),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			index(BySource, AttrSourceID, AttrTimestamp, types.ProjectionTypeAll),
			index(Recent, AttrPK, AttrActiveAt, types.ProjectionTypeKeysOnly),
			index(CoachRecent, AttrCoachKey, AttrActiveAt, types.ProjectionTypeKeysOnly),
			index(DueIndex, AttrDueShard, AttrDueAt, types.ProjectionTypeKeysOnly),
		},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled:  aws.Bool(true),
			StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}
}

// Attribute defines an attribute that is part of a key.
func Attribute(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
}

// Schema is the key schema of the table or of an index.
func Schema(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}

func index(name, hash, sort string, projection types.ProjectionType) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{
		IndexName:  aws.String(name),
		KeySchema:  Schema(hash, sort),
		Projection: &types.Projection{ProjectionType: projection},
	}
}
