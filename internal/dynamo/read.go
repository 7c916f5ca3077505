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
	batchGetLimit = 100 // DynamoDB's, of one BatchGetItem
	parallelReads = 8
)

// found are records by their keys.
type found map[key]item

// read gets records consistently, a hundred in a call, the calls side by side. What has expired is absent.
func (s *Store) read(ctx context.Context, op string, keys ...key) (found, error) {
	chunks := slices.Collect(slices.Chunk(keys, batchGetLimit))
	parts := make([]found, len(chunks))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelReads)
	for i, chunk := range chunks {
		parts[i] = make(found, len(chunk))
		g.Go(func() error { return s.readChunk(ctx, chunk, parts[i]) })
	}
	if err := g.Wait(); err != nil {
		return nil, failed(op, err)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	out := make(found, len(keys))
	for _, part := range parts {
		maps.Copy(out, part)
	}
	return out, nil
}

func (s *Store) readChunk(ctx context.Context, chunk []key, out found) error {
	asked := make([]map[string]types.AttributeValue, len(chunk))
	for i, k := range chunk {
		asked[i] = k.attributes()
	}
	want := map[string]types.KeysAndAttributes{s.table: {Keys: asked, ConsistentRead: aws.Bool(true)}}
	now := s.now()
	for p := s.patience(); ; {
		got, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: want})
		if err != nil {
			return err
		}
		for _, it := range got.Responses[s.table] {
			if it := item(it); !it.expired(now) {
				out[keyIn(it)] = it
			}
		}
		// More than 16 MiB, or a throttled partition: DynamoDB hands back what it left out.
		if want = got.UnprocessedKeys; len(want) == 0 {
			return nil
		}
		if len(got.Responses[s.table]) == 0 {
			if spent, err := p.rest(ctx); spent || err != nil {
				return errors.Join(errLeftOut, err)
			}
		}
	}
}

// errLeftOut says that DynamoDB kept handing back what it was asked for.
var errLeftOut = errors.New("dynamo: throttled: nothing of a batch was done")

// generation is the user's, from records that were read with it.
func (f found) generation(user conversation.UserID) int64 {
	return f[generationKey(user)].whole(attrGeneration)
}

// of returns a user's record, nil where it is absent or of an earlier generation, which an unfinished erasure has left
// behind.
func (f found) of(user conversation.UserID, k key) (item, bool) {
	if it, ok := f[k]; ok && it.whole(attrGeneration) >= f.generation(user) {
		return it, true
	}
	return nil, false
}

func generationKey(user conversation.UserID) key { return key{partition(user), generationSK} }

// readOf reads a user's records together with the generation that they have to be of.
func (s *Store) readOf(ctx context.Context, op string, user conversation.UserID, keys ...key) (found, error) {
	f, err := s.read(ctx, op, append(slices.Clip(keys), generationKey(user))...)
	if err == nil {
		s.known.keepGeneration(user, f.generation(user))
	}
	return f, err
}
