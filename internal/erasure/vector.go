package erasure

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
)

// vectorDeleter deletes one user's vectors. Where the index fails, it stores a tombstone and leaves them to the sweep.
// The deletion is complete all the same: what the index finds counts only while the table has its record.
type vectorDeleter struct {
	*Service
	user       conversation.UserID
	generation int64
	// down is set after the first failure of the index, which is then not called again in this deletion.
	down bool
}

// delete returns an error of the table, or of the context, and none of the index.
func (d *vectorDeleter) delete(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if !d.down {
		indexCtx, cancel := context.WithTimeout(ctx, maxIndexTime)
		defer cancel()
		if d.Index.Delete(indexCtx, d.user, d.generation, ids) == nil {
			return nil
		}
		d.down = true
	}
	now := d.Now()
	for chunk := range slices.Chunk(ids, maxTombstoneVectors) {
		t := Tombstone{User: d.user, Generation: d.generation, Vectors: chunk, Emptied: true, DeletedAt: now}
		if err := d.Tombstones.SaveVectorTombstone(ctx, t, now.Add(resumeAfter)); err != nil {
			return err
		}
	}
	return nil
}
