package legacy

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// BatchItems is how many items BatchWriteItem takes. They may have 16 MB.
const BatchItems = 25

// loaders is how many batches are written at once.
const loaders = 4

// Load writes the app's records, sessions and others, to a table.
func (t Table) Load(ctx context.Context, client *dynamodb.Client, name string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loaders)
	// Records are made in the goroutines, because the whole table may not fit the memory.
	for from := 0; from < t.Sessions; from += BatchItems {
		group.Go(func() error {
			var items []map[string]types.AttributeValue
			for n := from; n < min(from+BatchItems, t.Sessions); n++ {
				items = append(items, t.Session(n).Item)
			}
			return Write(ctx, client, name, items)
		})
	}
	for user := range t.Users {
		group.Go(func() error { return Write(ctx, client, name, t.Others(user)) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("load table: %w", err)
	}
	return nil
}

// Write writes at most 25 records in one batch. It is for engines without limits: one that leaves records out is an
// error.
func Write(ctx context.Context, client *dynamodb.Client, name string, items []map[string]types.AttributeValue) error {
	var requests []types.WriteRequest
	for _, it := range items {
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
	}
	if len(requests) == 0 {
		return nil
	}
	in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{name: requests}}
	out, err := client.BatchWriteItem(ctx, in)
	if err == nil && len(out.UnprocessedItems) > 0 {
		return errors.New("a batch was written in part")
	}
	return err
}
