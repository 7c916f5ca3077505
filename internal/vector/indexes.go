package vector

import (
	"context"
	"errors"
	"io"

	"github.com/throughline/throughline/internal/conversation"
)

// Held is an index with the model that its vectors are of.
type Held struct {
	Index
	Model
}

// Indexes are the vector indexes of a stage: the one that is searched and, while the stage moves to another host, model
// or layout, one besides it. Both get all writes and deletions, so either can be searched. It is safe for concurrent
// use, and does not change after it is built.
type Indexes struct {
	Serving Held
	// Besides is nil for a stage that has one index.
	Besides *Held
}

// All returns the indexes, the one that is searched first.
func (x Indexes) All() []Held {
	if x.Besides == nil {
		return []Held{x.Serving}
	}
	return []Held{x.Serving, *x.Besides}
}

// Source is the name of the vendor of the index that is searched.
func (x Indexes) Source() string { return x.Serving.Source() }

// Query asks the index that is searched.
func (x Indexes) Query(ctx context.Context, user conversation.UserID, generation int64, q Query) ([]Match, error) {
	return x.Serving.Query(ctx, user, generation, q)
}

// Delete deletes records from both indexes.
func (x Indexes) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	for _, held := range x.All() {
		if err := held.Delete(ctx, user, generation, ids); err != nil {
			return err
		}
	}
	return nil
}

// Drop deletes the vectors of one generation from both indexes, and returns how many there were. With an error, it
// returns how many it has deleted. A generation without vectors is no error.
func (x Indexes) Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error) {
	deleted := 0
	for _, held := range x.All() {
		n, err := held.Drop(ctx, user, generation)
		if deleted += n; err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// Close closes the indexes that can be closed.
func (x Indexes) Close() error {
	var errs []error
	for _, held := range x.All() {
		if c, ok := held.Index.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
