package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// Left counts the records of the user's partition that an erasure has left. A user may have stored records of the new
// generation since, which are not counted.
func (s *ErasureStore) Left(ctx context.Context, user conversation.UserID, generation int64,
) (left map[string]int, remaining int, err error) {
	left = map[string]int{}
	q := table.Query{
		Where: table.InPartition(user),
		Only:  []string{table.AttrPK, table.AttrSK, table.AttrGeneration, table.AttrPlacement},
	}
	for it, err := range s.db.QueryWithExpired(ctx, "count records", q) {
		if err != nil {
			return nil, 0, err
		}
		sk := it.String(table.AttrSK)
		if isErased(it, generation) {
			remaining++
			continue
		}
		_, ours := table.KindOf(sk)
		if isSince := ours && it.Has(table.AttrGeneration) && it.Int64(table.AttrGeneration) >= generation; !isSince ||
			table.IsCount(sk) {
			left[groupOf(sk)]++
		}
	}
	return left, remaining, nil
}

// HeldStore lists what is stored about a user and is in no other list. It is safe for concurrent use.
type HeldStore struct{ db *DB }

// NewHeldStore returns the other records of a DB's users.
func NewHeldStore(db *DB) *HeldStore { return &HeldStore{db} }

// Held lists the records of the partition that an export has not from other stores: summaries with their fields,
// parked arrays, idempotency records, tombstones, and conversations of the app with ids that the API cannot
// name. Of the app's other records it lists the beginnings of the keys. It reads the whole partition.
func (s *HeldStore) Held(ctx context.Context, user conversation.UserID, page conversation.Page,
) ([]conversation.Held, conversation.Position, error) {
	current, err := s.db.ReadCurrent(ctx, "list records", user)
	if err != nil {
		return nil, "", err
	}
	q := table.Query{Where: table.InPartition(user)}
	if page.After != "" {
		q.After = table.UserKey(user, string(page.After)).Attributes()
	}
	p := table.Pager[conversation.Held]{Limit: page.Limit}
	return p.Collect(s.db.Query(ctx, "list records", q), func(it table.Item) (conversation.Held, bool) {
		return decodeHeld(it, current.Generation(user))
	})
}

// decodeHeld returns a record of the user's generation as it is stored. ok is false for those that other lists have.
func decodeHeld(it table.Item, generation int64) (h conversation.Held, ok bool) {
	sk := it.String(table.AttrSK)
	kind, ours := table.KindOf(sk)
	switch {
	case sk == table.GenerationSK:
		kind = "generation"
	case table.IsSessionOrUnnamed(sk):
		if kind = "appSession"; ours {
			return conversation.Held{}, false
		}
	case !ours || !it.Has(table.AttrGeneration):
		return conversation.Held{Key: groupOf(sk)}, true
	case isListed(sk) || it.Int64(table.AttrGeneration) < generation && !table.IsCount(sk):
		return conversation.Held{}, false
	}
	record := map[string]any{}
	for name, v := range it {
		var decoded any
		if name == table.AttrPK || name == table.AttrLease || attributevalue.Unmarshal(v, &decoded) != nil {
			continue
		}
		record[name] = decoded
	}
	return conversation.Held{Kind: kind, Key: sk, Record: record}, true
}

// isListed reports whether a record of Throughline's is in a list of its own.
func isListed(sk string) bool {
	if sk == table.PreferencesSK || sk == table.ErasingSK {
		return true
	}
	for _, prefix := range []string{
		table.MessagePrefix, table.PromptPrefix, table.LivePrefix, table.PastPrefix,
		table.UsagePrefix, table.DocumentPrefix,
	} {
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
