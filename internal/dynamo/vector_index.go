package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/vector"
)

// IndexDirectory records which vector indexes hold a user, at the user's generation: whoever reads that reads the index
// too. It remembers nothing, because a writer that does not know of a user's move would leave a gap in the next index.
// It is safe for concurrent use.
type IndexDirectory struct{ db *DB }

var _ vector.Directory = (*IndexDirectory)(nil)

// NewIndexDirectory returns the directory of a DB.
func NewIndexDirectory(db *DB) *IndexDirectory { return &IndexDirectory{db} }

// Locate reads where the user's vectors are.
func (d *IndexDirectory) Locate(ctx context.Context, user conversation.UserID) (vector.Location, error) {
	records, err := d.db.readCurrent(ctx, "read vector index", user)
	return decodeLocation(records[generationKey(user)]), err
}

func decodeLocation(generation item) vector.Location {
	return vector.Location{
		Serving: generation.string(attrVectorIndex), Target: generation.string(attrTargetIndex),
		Retired: generation.string(attrRetiredIndex), ReindexedThrough: generation.string(attrMovedThrough),
		Generation: generation.int64(attrGeneration),
	}
}

// AssignIndex records the index of a user on condition that the record names none, and returns what it says then.
func (d *IndexDirectory) AssignIndex(ctx context.Context, user conversation.UserID, name string,
) (vector.Location, error) {
	u := expression.Set(field(attrVectorIndex), value(stringAttr(name)))
	it, err := d.db.updateItem(ctx, generationKey(user), u, expression.AttributeNotExists(field(attrVectorIndex)))
	if existing, assigned := conditionFailed(err); assigned {
		it, err = existing, nil
	}
	return decodeLocation(it), failed("assign vector index", err)
}
