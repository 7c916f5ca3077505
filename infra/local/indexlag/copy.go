package indexlag

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// batchSize is the limit of BatchWriteItem.
const batchSize = 25

// begin makes the copy and returns its follower. The follower listens to the stream before the table is read, so that
// the copy misses no change, and writes after it, so that no older state replaces a newer one.
func (l *Lag) begin(ctx context.Context) (*follower, error) {
	if err := l.dropCopy(ctx); err != nil { // of an earlier run that was killed
		return nil, err
	}
	if err := l.createCopy(ctx); err != nil {
		return nil, err
	}
	f, err := l.listen(ctx)
	if err != nil {
		return nil, errors.Join(err, l.dropCopy(ctx))
	}
	if err := l.fillCopy(ctx); err != nil {
		return nil, errors.Join(err, f.stop(), l.dropCopy(ctx))
	}
	close(f.filled)
	return f, nil
}

// createCopy makes a table with the same keys and indexes, and no stream.
func (l *Lag) createCopy(ctx context.Context) error {
	out, err := l.opts.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &l.opts.Table})
	if err != nil {
		return fmt.Errorf("describe table: %w", err)
	}
	input := &dynamodb.CreateTableInput{
		TableName: aws.String(l.copyName()), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: out.Table.AttributeDefinitions, KeySchema: out.Table.KeySchema,
	}
	for _, index := range out.Table.GlobalSecondaryIndexes {
		input.GlobalSecondaryIndexes = append(input.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
		})
	}
	if _, err := l.opts.Client.CreateTable(ctx, input); err != nil {
		return fmt.Errorf("create copy: %w", err)
	}
	return nil
}

func (l *Lag) dropCopy(ctx context.Context) error {
	_, err := l.opts.Client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(l.copyName())})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err == nil || missing {
		return nil
	}
	return fmt.Errorf("delete copy: %w", err)
}

// fillCopy writes every item of the table into the copy.
func (l *Lag) fillCopy(ctx context.Context) error {
	pages := dynamodb.NewScanPaginator(l.opts.Client, &dynamodb.ScanInput{
		TableName: &l.opts.Table, ConsistentRead: aws.Bool(true),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("read table: %w", err)
		}
		for items := range slices.Chunk(page.Items, batchSize) {
			requests := make([]types.WriteRequest, len(items))
			for i, item := range items {
				requests[i].PutRequest = &types.PutRequest{Item: item}
			}
			if err := l.writeBatch(ctx, requests); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Lag) writeBatch(ctx context.Context, requests []types.WriteRequest) error {
	left := map[string][]types.WriteRequest{l.copyName(): requests}
	for len(left) > 0 {
		out, err := l.opts.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})
		if err != nil {
			return fmt.Errorf("write copy: %w", err)
		}
		left = out.UnprocessedItems
	}
	return nil
}
