package promptbench

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/meter"
)

// bulk writes long transactions as batches: the same records, without the engine's work for all or nothing. It is for
// histories that nobody reads while they are written.
type bulk struct{ *meter.Meter }

// longTransaction is how many items make a transaction long; batchWrite is DynamoDB's most for one batch.
const (
	longTransaction = 10
	batchWrite      = 25
)

// TransactWriteItems writes the puts in batches, then the updates.
func (b bulk) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if len(in.TransactItems) < longTransaction {
		return b.Meter.TransactWriteItems(ctx, in, o...)
	}
	var puts []types.WriteRequest
	var updates []*types.Update
	var table string
	for _, item := range in.TransactItems {
		switch {
		case item.Put != nil:
			table = aws.ToString(item.Put.TableName)
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: item.Put.Item}})
		case item.Update != nil:
			updates = append(updates, item.Update)
		}
	}
	for batch := range slices.Chunk(puts, batchWrite) {
		in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: batch}}
		if _, err := b.BatchWriteItem(ctx, in); err != nil {
			return nil, err
		}
	}
	for _, u := range updates {
		if err := b.update(ctx, u); err != nil {
			return nil, err
		}
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

func (b bulk) update(ctx context.Context, u *types.Update) error {
	_, err := b.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression, ConditionExpression: u.ConditionExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
	})
	return err
}
