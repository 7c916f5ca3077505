package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

const (
	batchWriteLimit = 25 // DynamoDB's, of one BatchWriteItem
	parallelDeletes = 8
)

// deleteAll deletes records whose keys are never used again, 25 in a call.
func (s *Store) deleteAll(ctx context.Context, keys []key) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelDeletes)
	for chunk := range slices.Chunk(keys, batchWriteLimit) {
		g.Go(func() error { return s.deleteChunk(ctx, chunk) })
	}
	return g.Wait()
}

func (s *Store) deleteChunk(ctx context.Context, keys []key) error {
	requests := make([]types.WriteRequest, len(keys))
	for i, k := range keys {
		requests[i] = types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: k.attributes()}}
	}
	left := map[string][]types.WriteRequest{s.table: requests}
	for p := s.patience(); ; {
		out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})
		if err != nil {
			return err
		}
		before := len(left[s.table])
		if left = out.UnprocessedItems; len(left) == 0 {
			return nil
		}
		if len(left[s.table]) < before {
			continue
		}
		if spent, err := p.rest(ctx); spent || err != nil {
			return errors.Join(errLeftOut, err)
		}
	}
}
