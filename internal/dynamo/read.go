package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
)

// batchGetLimit is DynamoDB's, of one BatchGetItem.
const batchGetLimit = 100

// found are records by their keys.
type found map[key]item

// read gets records consistently, a hundred in a call. What has expired is absent.
func (s *Store) read(ctx context.Context, op string, keys ...key) (found, error) {
	out, p := make(found, len(keys)), s.patience()
	for chunk := range slices.Chunk(keys, batchGetLimit) {
		if err := s.readChunk(ctx, chunk, out, p); err != nil {
			return nil, failed(op, err)
		}
	}
	return out, nil
}

func (s *Store) readChunk(ctx context.Context, chunk []key, out found, p *patience) error {
	asked := make([]map[string]types.AttributeValue, len(chunk))
	for i, k := range chunk {
		asked[i] = k.attributes()
	}
	want := map[string]types.KeysAndAttributes{s.table: {Keys: asked, ConsistentRead: aws.Bool(true)}}
	now := s.now()
	for {
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
