package table

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
)

const (
	MaxBatchGet     = 100 // DynamoDB's limits of one call
	MaxBatchWrite   = 25
	parallelBatches = 8
)

// errUnprocessed says that DynamoDB repeatedly did nothing of a batch.
var errUnprocessed = errors.New("dynamo: throttled: nothing of a batch was done")

// RecordSet holds records by their keys.
type RecordSet map[Key]Item

// Generation returns the user's generation, when its record was read too.
func (r RecordSet) Generation(user conversation.UserID) int64 {
	return r[GenerationKey(user)].Int64(AttrGeneration)
}

// Current returns a user's record unless it is absent or of an earlier generation. Records of an earlier generation are
// what an unfinished erasure has still to delete.
func (r RecordSet) Current(user conversation.UserID, k Key) (Item, bool) {
	it, ok := r[k]
	if !ok || it.Int64(AttrGeneration) < r.Generation(user) {
		return nil, false
	}
	return it, true
}

// GenerationKey is the key of a user's generation.
func GenerationKey(user conversation.UserID) Key { return UserKey(user, GenerationSK) }

// Read reads records consistently, 100 in a call and 8 calls at a time. Expired records are left out.
func (t *Table) Read(ctx context.Context, op string, keys ...Key) (RecordSet, error) {
	chunks := slices.Collect(slices.Chunk(keys, MaxBatchGet))
	parts := make([]RecordSet, len(chunks))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelBatches)
	for i, chunk := range chunks {
		parts[i] = make(RecordSet, len(chunk))
		g.Go(func() error { return t.readBatch(ctx, chunk, parts[i]) })
	}
	if err := g.Wait(); err != nil {
		return nil, Failed(op, err)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	out := make(RecordSet, len(keys))
	for _, part := range parts {
		maps.Copy(out, part)
	}
	return out, nil
}

// readBatch reads at most 100 records into out. DynamoDB returns the keys that it left out, because the answer would
// pass 16 MiB or because a partition is throttled. They are asked for again.
func (t *Table) readBatch(ctx context.Context, keys []Key, out RecordSet) error {
	wanted := make([]map[string]types.AttributeValue, len(keys))
	for i, k := range keys {
		wanted[i] = k.Attributes()
	}
	left := map[string]types.KeysAndAttributes{t.Name: {Keys: wanted, ConsistentRead: aws.Bool(true)}}
	now := t.Now()
	for b := t.Backoff(); ; {
		answer, err := t.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: left})
		if err != nil {
			return err
		}
		for _, it := range answer.Responses[t.Name] {
			if it := Item(it); !it.Expired(now) {
				out[KeyOf(it)] = it
			}
		}
		if left = answer.UnprocessedKeys; len(left) == 0 {
			return nil
		}
		if len(answer.Responses[t.Name]) == 0 {
			if err := b.afterThrottle(ctx, errUnprocessed); err != nil {
				return err
			}
		}
	}
}

// DeleteAll deletes records without a condition, 25 in a call. Their keys must never be used again.
func (t *Table) DeleteAll(ctx context.Context, keys []Key) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelBatches)
	for chunk := range slices.Chunk(keys, MaxBatchWrite) {
		g.Go(func() error { return t.DeleteBatch(ctx, chunk) })
	}
	return g.Wait()
}

// DeleteBatch deletes at most 25 records, and again those that DynamoDB left out.
func (t *Table) DeleteBatch(ctx context.Context, keys []Key) error {
	requests := make([]types.WriteRequest, len(keys))
	for i, k := range keys {
		requests[i] = types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: k.Attributes()}}
	}
	left := map[string][]types.WriteRequest{t.Name: requests}
	for b := t.Backoff(); ; {
		before := len(left[t.Name])
		var answer *dynamodb.BatchWriteItemOutput
		err := b.write(ctx, func(once ...func(*dynamodb.Options)) (err error) {
			answer, err = t.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left}, once...)
			return err
		})
		if err != nil {
			return err
		}
		if left = answer.UnprocessedItems; len(left) == 0 {
			return nil
		}
		if len(left[t.Name]) == before {
			if err := b.afterThrottle(ctx, errUnprocessed); err != nil {
				return err
			}
		}
	}
}
