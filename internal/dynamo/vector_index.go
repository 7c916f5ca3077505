package dynamo

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
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
	records, err := d.db.ReadCurrent(ctx, "read vector index", user)
	return decodeLocation(records[table.GenerationKey(user)]), err
}

func decodeLocation(generation table.Item) vector.Location {
	return vector.Location{
		Serving: generation.String(table.AttrVectorIndex), Target: generation.String(table.AttrTargetIndex),
		Retired: generation.String(table.AttrRetiredIndex), ReindexedThrough: generation.String(table.AttrMovedThrough),
		Generation: generation.Int64(table.AttrGeneration),
	}
}

// AssignIndex records the index of a user on condition that the record names none, and returns what it says then.
func (d *IndexDirectory) AssignIndex(ctx context.Context, user conversation.UserID, name string,
) (vector.Location, error) {
	u := table.Set(table.AttrVectorIndex, table.StringAttr(name))
	it, err := d.db.UpdateItem(ctx, table.GenerationKey(user), u,
		table.Lacks(table.AttrVectorIndex))
	if existing, assigned := table.ConditionFailed(err); assigned {
		it, err = existing, nil
	}
	return decodeLocation(it), table.Failed("assign vector index", err)
}
