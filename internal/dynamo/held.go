package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/throughline/throughline/internal/conversation"
)

// Left counts the records of the user's partition that an erasure has left. A user may have stored records of the new
// generation since, which are not counted.
func (s *ErasureStore) Left(ctx context.Context, user conversation.UserID, generation int64,
) (left map[string]int, remaining int, err error) {
	left = map[string]int{}
	q := query{where: inPartition(user), only: []string{attrPK, attrSK, attrGeneration, attrPlacement}}
	for it, err := range s.db.queryWithExpired(ctx, "count records", q) {
		if err != nil {
			return nil, 0, err
		}
		sk := it.string(attrSK)
		if isErased(it, generation) {
			remaining++
			continue
		}
		_, ours := kindOf(sk)
		if isSince := ours && it.has(attrGeneration) && it.int64(attrGeneration) >= generation; !isSince || isCount(sk) {
			left[groupOf(sk)]++
		}
	}
	return left, remaining, nil
}

// HeldStore lists what is stored about a user and is in no other list. It is safe for concurrent use.
type HeldStore struct{ db *DB }

// NewHeldStore returns the other records of a DB's users.
func NewHeldStore(db *DB) *HeldStore { return &HeldStore{db} }

// Held lists the records of the partition that an export has not from other stores: former titles, summaries with their
// fields, parked arrays, idempotency records, tombstones, and conversations of the app with ids that the API cannot
// name. Of the app's other records it lists the beginnings of the keys. It reads the whole partition.
func (s *HeldStore) Held(ctx context.Context, user conversation.UserID, page conversation.Page,
) ([]conversation.Held, conversation.Position, error) {
	current, err := s.db.readCurrent(ctx, "list records", user)
	if err != nil {
		return nil, "", err
	}
	q := query{where: inPartition(user)}
	if page.After != "" {
		q.after = key{partition(user), string(page.After)}.attributes()
	}
	p := pager[conversation.Held]{limit: page.Limit}
	return p.collect(s.db.query(ctx, "list records", q), func(it item) (conversation.Held, bool) {
		return decodeHeld(it, current.generation(user))
	})
}

// decodeHeld returns a record of the user's generation as it is stored. ok is false for those that other lists have.
func decodeHeld(it item, generation int64) (h conversation.Held, ok bool) {
	sk := it.string(attrSK)
	kind, ours := kindOf(sk)
	switch {
	case sk == generationSK:
		kind = "generation"
	case isSessionOrUnnamed(sk):
		if kind = "appSession"; ours {
			return conversation.Held{}, false
		}
	case !ours || !it.has(attrGeneration):
		return conversation.Held{Key: groupOf(sk)}, true
	case isListed(sk) || it.int64(attrGeneration) < generation && !isCount(sk):
		return conversation.Held{}, false
	}
	record := map[string]any{}
	for name, v := range it {
		var decoded any
		if name == attrPK || name == attrLease || attributevalue.Unmarshal(v, &decoded) != nil {
			continue
		}
		record[name] = decoded
	}
	return conversation.Held{Kind: kind, Key: sk, Record: record}, true
}

// isListed reports whether a record of Throughline's is in a list of its own.
func isListed(sk string) bool {
	if sk == preferencesSK || sk == erasingSK {
		return true
	}
	for _, prefix := range []string{messagePrefix, promptPrefix, livePrefix, pastPrefix, usagePrefix, documentPrefix} {
		if strings.HasPrefix(sk, prefix) {
			return true
		}
	}
	return false
}

// maxGroup bounds how many characters of a key a receipt names.
const maxGroup = 64

const otherKeys = "other"

// groupOf returns the part of a sort key up to its first '#', by which receipts count records that are not
// Throughline's. It is otherKeys for a key without one, because an id may be all of it.
func groupOf(sk string) string {
	i := strings.IndexByte(sk, '#')
	if i < 0 || i >= maxGroup {
		return otherKeys
	}
	return sk[:i+1]
}
