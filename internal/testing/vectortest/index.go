package vectortest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/vector"
)

// Index is a vector index in memory. It compares a query with every record. It is safe for concurrent use.
type Index struct {
	dimensions int
	mu         sync.Mutex
	records    map[space]map[string]vector.Record
}

var _ vector.Index = (*Index)(nil)

// space is a user and a generation.
type space struct {
	user       conversation.UserID
	generation int64
}

// NewIndex returns an empty index of vectors of so many dimensions.
func NewIndex(dimensions int) *Index {
	return &Index{dimensions: dimensions, records: map[space]map[string]vector.Record{}}
}

// NewIndexes returns the indexes of a stage that has one, which is empty and of Dimensions.
func NewIndexes() vector.Indexes {
	return vector.Indexes{Serving: vector.Held{Index: NewIndex(Dimensions)}}
}

// Source is "memory".
func (x *Index) Source() string { return "memory" }

// Dimension returns the dimension of the vectors.
func (x *Index) Dimension(context.Context) (int, error) { return x.dimensions, nil }

// Room returns nil: there is always room.
func (x *Index) Room(context.Context, conversation.UserID, int64) error { return nil }

// Query returns the nearest records by the sum of the two dot products. Equal ones are ordered by id.
func (x *Index) Query(
	_ context.Context, user conversation.UserID, generation int64, q vector.Query,
) ([]vector.Match, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var matches []vector.Match
	for id, r := range x.records[space{user, generation}] {
		if passes(q.Filter, r.Metadata) {
			score := dot(q.Dense, r.Dense) + q.Sparse.Dot(r.Sparse)
			matches = append(matches, vector.Match{ID: id, Score: score, Metadata: selected(r.Metadata, q.Fields)})
		}
	}
	slices.SortFunc(matches, func(a, b vector.Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return matches[:min(len(matches), q.TopK)], nil
}

func dot(a, b []float32) (sum float64) {
	for i, value := range a {
		sum += float64(value) * float64(b[i])
	}
	return sum
}

func selected(metadata map[string]any, fields []string) map[string]any {
	out := map[string]any{}
	for _, name := range fields {
		if value, ok := metadata[name]; ok {
			out[name] = value
		}
	}
	return out
}

// Upsert stores records.
func (x *Index) Upsert(
	_ context.Context, user conversation.UserID, generation int64, records []vector.Record,
) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := space{user, generation}
	if x.records[s] == nil {
		x.records[s] = map[string]vector.Record{}
	}
	for _, r := range records {
		if len(r.Dense) != x.dimensions {
			return fmt.Errorf("upsert vectors: %s has %d dimensions, the index %d", r.ID, len(r.Dense), x.dimensions)
		}
		r.Metadata = maps.Clone(r.Metadata)
		x.records[s][r.ID] = r
	}
	return nil
}

// Delete deletes records.
func (x *Index) Delete(_ context.Context, user conversation.UserID, generation int64, ids []string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		delete(x.records[space{user, generation}], id)
	}
	return nil
}

// Drop deletes all vectors of a generation and returns how many there were.
func (x *Index) Drop(_ context.Context, user conversation.UserID, generation int64) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := space{user, generation}
	n := len(x.records[s])
	delete(x.records, s)
	return n, nil
}

// passes reports whether metadata passes a filter.
func passes(f vector.Filter, metadata map[string]any) bool {
	fails := func(part vector.Filter) bool { return !passes(part, metadata) }
	holds := func(part vector.Filter) bool { return passes(part, metadata) }
	value := metadata[f.Field]
	switch f.Op {
	case "":
		return true
	case vector.All:
		return !slices.ContainsFunc(f.Of, fails)
	case vector.Any:
		return slices.ContainsFunc(f.Of, holds)
	case vector.Equal:
		return isOneOf(value, f.Value)
	case vector.NotEqual:
		return !isOneOf(value, f.Value)
	case vector.In, vector.NotIn:
		isIn := slices.ContainsFunc(f.Value.([]string), func(s string) bool { return isOneOf(value, s) })
		return isIn == (f.Op == vector.In)
	}
	number, ok := value.(float64)
	return ok && f.Op.Compare()(number, f.Value.(float64))
}

// isOneOf reports whether a field is a value, or a list that has it.
func isOneOf(field, value any) bool {
	if list, ok := field.([]string); ok {
		text, ok := value.(string)
		return ok && slices.Contains(list, text)
	}
	return field != nil && field == value
}
