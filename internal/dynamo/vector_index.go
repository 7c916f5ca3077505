package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// IndexDirectory records which vector index holds a user, at the user's generation: whoever reads that reads the index
// too. It is safe for concurrent use.
type IndexDirectory struct {
	db *DB
	// known has the users whose records name an index. A record never names another one later.
	known *sessionCache
}

var _ recall.Directory = (*IndexDirectory)(nil)

// NewIndexDirectory returns the directory of a DB.
func NewIndexDirectory(db *DB) *IndexDirectory {
	return &IndexDirectory{db, newSessionCache(cachedUsers)}
}

// cachedUsers is how many users the directory remembers.
const cachedUsers = 10_000

// IndexOf returns the index that the user's record names, with the user's generation when it names none.
func (d *IndexDirectory) IndexOf(ctx context.Context, user conversation.UserID,
) (name string, generation int64, err error) {
	if cached, ok := d.known.get(cacheKey{user: user}); ok {
		return cached.index, 0, nil
	}
	records, err := d.db.readCurrent(ctx, "read vector index", user)
	if err != nil {
		return "", 0, err
	}
	if name = records.index(user); name != "" {
		d.remember(user, name)
	}
	return name, records.generation(user), nil
}

// AssignIndex records the index of a user on condition that the record names none, and returns what it names then.
func (d *IndexDirectory) AssignIndex(ctx context.Context, user conversation.UserID, name string) (string, error) {
	u := expression.Set(field(attrVectorIndex), value(stringAttr(name)))
	it, err := d.db.updateItem(ctx, generationKey(user), u, expression.AttributeNotExists(field(attrVectorIndex)))
	if existing, assigned := conditionFailed(err); assigned {
		it, err = existing, nil
	}
	if err != nil {
		return "", failed("assign vector index", err)
	}
	name = it.string(attrVectorIndex)
	d.remember(user, name)
	return name, nil
}

func (d *IndexDirectory) remember(user conversation.UserID, name string) {
	d.known.put(cacheEntry{key: cacheKey{user: user}, index: name}, func(cacheEntry) bool { return false })
}
