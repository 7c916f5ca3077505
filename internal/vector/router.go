package vector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Directory says which indexes hold a user, where there are several.
type Directory interface {
	// Locate reads the user's record, consistently.
	Locate(ctx context.Context, user conversation.UserID) (Location, error)
	// AssignIndex records the index of a user whose record names none, and returns what the record says then: another
	// caller may have been first.
	AssignIndex(ctx context.Context, user conversation.UserID, name string) (Location, error)
}

// Location is where a user's vectors are, by the names of the indexes.
type Location struct {
	// Serving is the index that is searched. It is empty where the user's record names none.
	Serving string
	// Target is the index to which the user is being reindexed. Vectors are written to both, so that the target misses
	// none that is written after the reindex began.
	Target string
	// Retired is an index that served the user before. Its vectors will be deleted. Until then, deletions reach it.
	Retired string
	// ReindexedThrough is how far the reindex to Target has come, in the words of the store. It is empty at the beginning.
	ReindexedThrough string
	// Generation is the user's generation.
	Generation int64
}

// Router sends the calls of a user to the indexes that hold the user. It is safe for concurrent use, and does not
// change after it is built.
type Router struct {
	// Indexes are the indexes by the names that users' records have.
	Indexes map[string]Index
	// First is the name of the index of users whose records name none, and NewUsers that of users without vectors.
	First, NewUsers string
	// Directory is nil where there is one index. Nobody's record names an index then.
	Directory Directory
}

// Source is the name of the vendor of the first index.
func (r *Router) Source() string { return r.Indexes[r.First].Source() }

// Close closes the indexes that can be closed.
func (r *Router) Close() error {
	var errs []error
	for _, x := range r.Indexes {
		if c, ok := x.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Dimension returns the dimension of an index.
func (r *Router) Dimension(ctx context.Context, index string) (int, error) {
	x, err := r.index(index)
	if err != nil {
		return 0, err
	}
	return x.Dimension(ctx)
}

// index returns the index with a name. A deployment may lack an index that is still in users' records.
func (r *Router) index(name string) (Index, error) {
	if x := r.Indexes[name]; x != nil {
		return x, nil
	}
	err := fmt.Errorf("the user's record names the index %q, which is not configured", name)
	return nil, fault.Wrap(fault.Internal, "find vector index", err)
}

// Query asks the index that the query names, or the first.
func (r *Router) Query(ctx context.Context, user conversation.UserID, generation int64, q Query) ([]Match, error) {
	x, err := r.index(cmp.Or(q.Index, r.First))
	if err != nil {
		return nil, err
	}
	return x.Query(ctx, user, generation, q)
}

// WrittenTo returns the names of the indexes to which the user's vectors have to be written: the one that is searched
// and, while the user is being reindexed, the next one. A user without an index gets one. It returns an error with
// ErrQuota in its chain when one of them has no room for the user's next vectors.
func (r *Router) WrittenTo(ctx context.Context, user conversation.UserID, generation int64) ([]string, error) {
	names, err := r.written(ctx, user, generation)
	if err != nil {
		return nil, err
	}
	indexes, err := r.all(names)
	if err != nil {
		return nil, err
	}
	for _, x := range indexes {
		if err := x.Room(ctx, user, generation); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (r *Router) written(ctx context.Context, user conversation.UserID, generation int64) ([]string, error) {
	if r.Directory == nil {
		return []string{r.First}, nil
	}
	at, err := r.Directory.Locate(ctx, user)
	if err == nil && at.Serving == "" {
		at, err = r.assign(ctx, user, max(at.Generation, generation))
	}
	return named(at.Serving, at.Target), err
}

// named returns the names that are not empty.
func named(names ...string) []string {
	var out []string
	for _, name := range names {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// all returns the indexes with these names.
func (r *Router) all(names []string) ([]Index, error) {
	indexes := make([]Index, len(names))
	for i, name := range names {
		var err error
		if indexes[i], err = r.index(name); err != nil {
			return nil, err
		}
	}
	return indexes, nil
}

// assign gives a user an index. Users from before there were several, whose vectors are in the first, stay there: also
// those of whom an erasure has still to find the vectors of an earlier generation.
func (r *Router) assign(ctx context.Context, user conversation.UserID, current int64) (Location, error) {
	name := r.NewUsers
	for generation := int64(0); generation <= current && name != r.First; generation++ {
		isEmpty, err := r.Indexes[r.First].IsEmpty(ctx, user, generation)
		if err != nil {
			return Location{}, err
		}
		if !isEmpty {
			name = r.First
		}
	}
	return r.Directory.AssignIndex(ctx, user, name)
}

// Upsert stores records in an index that WrittenTo names.
func (r *Router) Upsert(
	ctx context.Context, user conversation.UserID, generation int64, index string, records []Record,
) error {
	if len(records) == 0 {
		return nil
	}
	x, err := r.index(index)
	if err != nil {
		return err
	}
	return x.Upsert(ctx, user, generation, records)
}

// Delete deletes records from every index that may have vectors of the user.
func (r *Router) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	indexes, err := r.holding(ctx, user)
	if err != nil {
		return err
	}
	for _, x := range indexes {
		if err := x.Delete(ctx, user, generation, ids); err != nil {
			return err
		}
	}
	return nil
}

// Drop deletes the vectors of one generation from every index that may have them, and returns how many there were. With
// an error, it returns how many it has deleted. A generation without vectors is no error.
func (r *Router) Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error) {
	indexes, err := r.holding(ctx, user)
	if err != nil {
		return 0, err
	}
	deleted := 0
	for _, x := range indexes {
		n, err := x.Drop(ctx, user, generation)
		if deleted += n; err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// DropFrom deletes the vectors of one generation from one index.
func (r *Router) DropFrom(ctx context.Context, user conversation.UserID, generation int64, index string) (int, error) {
	x, err := r.index(index)
	if err != nil {
		return 0, err
	}
	return x.Drop(ctx, user, generation)
}

// holding returns every index that may have vectors of the user.
func (r *Router) holding(ctx context.Context, user conversation.UserID) ([]Index, error) {
	var at Location
	if r.Directory != nil {
		var err error
		if at, err = r.Directory.Locate(ctx, user); err != nil {
			return nil, err
		}
	}
	return r.all(named(cmp.Or(at.Serving, r.First), at.Target, at.Retired))
}
