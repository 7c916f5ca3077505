// Package vector has the ports and the types of semantic search: the port of an index, the indexes of a stage,
// records with a dense and a sparse vector and their layout, queries with a neutral
// filter, and matches. An index gives ids and scores; the text always comes from the table.
package vector

import (
	"errors"
	"slices"
)

// ErrQuota is in the chain of errors of an index whose plan allows no more: no further namespace, no more storage, or
// no further reads or writes this month. Trying again does not help before somebody changes the plan or the
// configuration.
var ErrQuota = errors.New("the vector index's plan allows no more")

// Sparse is a sparse vector: ascending indices and their values, equally many.
type Sparse struct {
	Indices []uint32
	Values  []float32
}

// Record is one vector with its metadata. Metadata values are string, float64, bool or []string.
type Record struct {
	ID       string
	Dense    []float32
	Sparse   Sparse
	Metadata map[string]any
}

// Query asks for the records nearest to a dense and a sparse vector.
type Query struct {
	Dense  []float32
	Sparse Sparse
	TopK   int
	Filter Filter
	// Fields are the metadata fields that the matches bring. With none they bring ids and scores alone.
	Fields []string
}

// Match is one answer of a query.
type Match struct {
	ID    string
	Score float64
	// Metadata has those of the query's fields that the record has.
	Metadata map[string]any
}

// Union returns the matches of several queries, each once, in their order.
func Union(answers ...[]Match) (all []Match) {
	known := map[string]bool{}
	for _, m := range slices.Concat(answers...) {
		if !known[m.ID] {
			known[m.ID] = true
			all = append(all, m)
		}
	}
	return all
}
