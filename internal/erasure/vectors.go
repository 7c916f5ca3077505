package erasure

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
)

// vectors deletes one user's vectors as far as the index answers. What it does not delete is left to the sweep, in
// graves: the table has the last word over what the index finds, so that a deletion is whole without it.
type vectors struct {
	*Service
	user       conversation.UserID
	generation int64
	// down is set once the index has failed; it is not asked again in this deletion.
	down bool
}

// delete's error is the table's, or that there is no time left.
func (v *vectors) delete(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if !v.down {
		asked, cancel := context.WithTimeout(ctx, indexTime)
		defer cancel()
		if v.Index.Delete(asked, v.user, v.generation, ids) == nil {
			return nil
		}
		v.down = true
	}
	now := v.Now()
	for some := range slices.Chunk(ids, maxGraveVectors) {
		g := Grave{User: v.user, Generation: v.generation, Vectors: some, Emptied: true, BuriedAt: now}
		if err := v.Store.LeaveGrave(ctx, g, now.Add(resumeAfter)); err != nil {
			return err
		}
	}
	return nil
}
