package dynamo

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
	maxBatchGet     = 100 // DynamoDB's limits of one call
	maxBatchWrite   = 25
	parallelBatches = 8
)

// errUnprocessed says that DynamoDB repeatedly did nothing of a batch.
var errUnprocessed = errors.New("dynamo: throttled: nothing of a batch was done")

// recordSet holds records by their keys.
type recordSet map[key]item

// generation returns the user's generation, when its record was read too.
func (r recordSet) generation(user conversation.UserID) int64 {
	return r[generationKey(user)].int64(attrGeneration)
}

// index returns the name of the vector index that holds the user, when the record of the generation was read too.
func (r recordSet) index(user conversation.UserID) string {
	return r[generationKey(user)].string(attrVectorIndex)
}

// current returns a user's record unless it is absent or of an earlier generation. Records of an earlier generation are
// what an unfinished erasure has still to delete. An app's own session has no generation: an erasure deletes it as long
// as it is not done.
func (r recordSet) current(user conversation.UserID, k key) (item, bool) {
	it, ok := r[k]
	switch {
	case !ok:
	case IsSessionKey(k.sk) && !it.has(attrPlacement):
		ok = !r[generationKey(user)].bool(attrErasing)
	default:
		ok = it.int64(attrGeneration) >= r.generation(user)
	}
	if !ok {
		return nil, false
	}
	return it, true
}

func generationKey(user conversation.UserID) key { return key{partition(user), generationSK} }

// readCurrent reads a user's records together with the user's generation. The stage of the migration is read with them
// when the one that is known is too old, so that it takes no call of its own.
func (db *DB) readCurrent(ctx context.Context, op string, user conversation.UserID, keys ...key) (recordSet, error) {
	began := db.now()
	all := append(slices.Clip(keys), generationKey(user))
	withStage := len(all) < maxBatchGet && db.stages.isStale(began)
	if withStage {
		all = append(all, stateKey)
	}
	r, err := db.read(ctx, op, all...)
	if err != nil {
		return nil, err
	}
	db.cache.saveGeneration(user, r.generation(user))
	if withStage {
		db.stages.save(db.stages.in(r), began)
	}
	return r, nil
}

// read reads records consistently, 100 in a call and 8 calls at a time. Expired records are left out.
func (db *DB) read(ctx context.Context, op string, keys ...key) (recordSet, error) {
	chunks := slices.Collect(slices.Chunk(keys, maxBatchGet))
	parts := make([]recordSet, len(chunks))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelBatches)
	for i, chunk := range chunks {
		parts[i] = make(recordSet, len(chunk))
		g.Go(func() error { return db.readBatch(ctx, chunk, parts[i]) })
	}
	if err := g.Wait(); err != nil {
		return nil, failed(op, err)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	out := make(recordSet, len(keys))
	for _, part := range parts {
		maps.Copy(out, part)
	}
	return out, nil
}

// readBatch reads at most 100 records into out. DynamoDB returns the keys that it left out, because the answer would
// pass 16 MiB or because a partition is throttled. They are asked for again.
func (db *DB) readBatch(ctx context.Context, keys []key, out recordSet) error {
	wanted := make([]map[string]types.AttributeValue, len(keys))
	for i, k := range keys {
		wanted[i] = k.attributes()
	}
	left := map[string]types.KeysAndAttributes{db.table: {Keys: wanted, ConsistentRead: aws.Bool(true)}}
	now := db.now()
	for b := db.backoff(); ; {
		answer, err := db.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: left})
		if err != nil {
			return err
		}
		for _, it := range answer.Responses[db.table] {
			if it := item(it); !it.expired(now) {
				out[keyOf(it)] = it
			}
		}
		if left = answer.UnprocessedKeys; len(left) == 0 {
			return nil
		}
		if len(answer.Responses[db.table]) == 0 {
			if err := b.afterThrottle(ctx, errUnprocessed); err != nil {
				return err
			}
		}
	}
}

// deleteAll deletes records without a condition, 25 in a call. Their keys must never be used again.
func (db *DB) deleteAll(ctx context.Context, keys []key) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelBatches)
	for chunk := range slices.Chunk(keys, maxBatchWrite) {
		g.Go(func() error { return db.deleteBatch(ctx, chunk) })
	}
	return g.Wait()
}

// deleteBatch deletes at most 25 records, and again those that DynamoDB left out.
func (db *DB) deleteBatch(ctx context.Context, keys []key) error {
	requests := make([]types.WriteRequest, len(keys))
	for i, k := range keys {
		requests[i] = types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: k.attributes()}}
	}
	left := map[string][]types.WriteRequest{db.table: requests}
	for b := db.backoff(); ; {
		before := len(left[db.table])
		var answer *dynamodb.BatchWriteItemOutput
		err := b.write(ctx, func(once ...func(*dynamodb.Options)) (err error) {
			answer, err = db.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left}, once...)
			return err
		})
		if err != nil {
			return err
		}
		if left = answer.UnprocessedItems; len(left) == 0 {
			return nil
		}
		if len(left[db.table]) == before {
			if err := b.afterThrottle(ctx, errUnprocessed); err != nil {
				return err
			}
		}
	}
}
