package indexlag

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

const (
	batchSize   = 25 // BatchWriteItem's limit
	copyWriters = 4
)

// begin makes the copy and has a follower keep it up. The follower begins to listen before the table is read, and to
// write after: so the copy misses nothing and never goes back to what was read.
func (l *Lag) begin(ctx context.Context) (*follower, error) {
	if err := l.dropCopy(ctx); err != nil { // of a run that was killed
		return nil, err
	}
	if err := l.createCopy(ctx); err != nil {
		return nil, err
	}
	follow, err := l.listen(ctx)
	if err != nil {
		return nil, errors.Join(err, l.dropCopy(ctx))
	}
	if err := l.fillCopy(ctx); err != nil {
		return nil, errors.Join(err, follow.stop(), l.dropCopy(ctx))
	}
	follow.write()
	return follow, nil
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
	var missing *types.ResourceNotFoundException
	if err != nil && !errors.As(err, &missing) {
		return fmt.Errorf("delete copy: %w", err)
	}
	return nil
}

// fillCopy reads the whole table into the copy.
func (l *Lag) fillCopy(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copyWriters)
	pages := dynamodb.NewScanPaginator(l.opts.Client, &dynamodb.ScanInput{
		TableName: &l.opts.Table, ConsistentRead: aws.Bool(true),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return errors.Join(fmt.Errorf("read table: %w", err), group.Wait())
		}
		for from := 0; from < len(page.Items); from += batchSize {
			items := page.Items[from:min(from+batchSize, len(page.Items))]
			group.Go(func() error { return l.put(ctx, items) })
		}
	}
	return group.Wait()
}

func (l *Lag) put(ctx context.Context, items []map[string]types.AttributeValue) error {
	requests := make([]types.WriteRequest, len(items))
	for i, item := range items {
		requests[i].PutRequest = &types.PutRequest{Item: item}
	}
	return l.writeBatch(ctx, requests)
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
