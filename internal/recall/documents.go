package recall

import (
	"context"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// DocumentQuery asks for the documents that are most relevant to a text.
type DocumentQuery struct {
	Query string
	// Under limits the documents to a namespace and those below it. Empty means all.
	Under document.Namespace
	// Filter limits them by the fields of their values.
	Filter document.Filter
	// Limit is the maximum number of documents.
	Limit int
}

const (
	// nearDocuments is how many documents the index is asked for.
	nearDocuments = 100
	// readDocuments is how many are read from the table, of at most conversation.MaxPageBytes together.
	readDocuments = 1000
	// leastLikeness is the likeness with a query from which on a document has it by more than chance. Random vectors of
	// 512 dimensions have a half of it as their deviation, in a mean with a likeness of the words that is 0.
	leastLikeness = 0.045
)

// Documents returns the documents that are most relevant to a query, by the same ranking as messages. Those of one
// page of the table are ranked whether or not the index has vectors of them, so that a new document is found at once.
// A document that is like the query by chance only counts as one that the index does not have, so that the order of
// such documents is the same while the index is late. Of more documents, the index finds the others. When it does not
// answer, the answer is degraded. Its errors are Invalid, with the field, and those of the store.
func (s *Service) Documents(ctx context.Context, user conversation.UserID, q DocumentQuery) (Records, error) {
	if strings.TrimSpace(q.Query) == "" {
		return Records{}, fault.InvalidField("query", "must be a text to search for")
	}
	found, visible, err := s.search(ctx, user, Search{
		Text: q.Query, RecordTypes: []string{vector.DocumentRecord}, Limit: nearDocuments, under: q.Under,
	})
	if err != nil {
		return Records{}, err
	}
	for i, h := range found.Hits {
		if h.Score < leastLikeness {
			found.Hits[i].Score = 0
		}
	}
	hits, err := visible.withDocuments(ctx, s.store, user, q.Filter, found.Hits)
	if err != nil {
		return Records{}, err
	}
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return !q.Filter.Matches(h.Document.Value) })
	hits = boundDocuments(s.rankHits(hits, visible.asked))
	return visible.answer(hits[:min(q.Limit, len(hits))], nonNil(found.Degraded)), nil
}

// placeOf names a document within its user's.
func placeOf(d document.Document) string { return d.Namespace.String() + "/" + d.Key }

// withDocuments returns hits with the documents of one page of the table, where the search may see them.
func (v visibility) withDocuments(
	ctx context.Context, store document.Lister, user conversation.UserID, f document.Filter, hits []Hit,
) ([]Hit, error) {
	if !v.wantsDocuments() {
		return hits, nil
	}
	stored, _, err := store.Documents(ctx, user, v.under, f, conversation.Page{Limit: readDocuments})
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, h := range hits {
		if h.Document != nil {
			found[placeOf(*h.Document)] = true
		}
	}
	all := slices.Clone(hits)
	for i := range stored {
		place := placeOf(stored[i])
		h := Hit{ID: "document " + place, Document: &stored[i]}
		if !found[place] && v.allows(h) {
			all = append(all, h)
		}
	}
	return all, nil
}

// boundDocuments leaves out documents whose values would make the answer larger than a page.
func boundDocuments(hits []Hit) []Hit {
	bytes := 0
	return slices.DeleteFunc(hits, func(h Hit) bool {
		if h.Document == nil {
			return false
		}
		bytes += len(h.Document.Value)
		return bytes > conversation.MaxPageBytes && bytes > len(h.Document.Value)
	})
}
