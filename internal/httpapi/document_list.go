package httpapi

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/recall"
)

type documentsInput struct {
	ListInput
	Namespace namespaceText `query:"namespace" doc:"Only documents in this namespace and in those below it."`
	Filter    string        `query:"filter" maxLength:"4096" doc:"Conditions on the fields of values, as JSON."`
	Query     searchText    `query:"query" doc:"A text to search for: the most relevant documents come, with scores."`
}

// foundDocument is a document, with its score where the list is a search.
type foundDocument struct {
	Document
	Score *float64 `json:"score,omitempty" doc:"With query: what the order follows, from 0 to 1."`
}

type foundDocuments struct {
	Items      []foundDocument      `json:"items" doc:"The documents of the page, which ends at the limit or at 1 MiB."`
	NextCursor string               `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last."`
	Degraded   []recall.Degradation `json:"degraded,omitempty" doc:"With query: the sources that did not answer."`
}

// documentLists serves the list of documents, which can be a search.
type documentLists struct {
	*server
	store  document.Reader
	search Searcher
}

func (s documentLists) register() {
	registerDoc(s.server, op("GET /v1/documents", "listDocuments", documentTag, "List documents",
		documentDetail+"Those of a namespace and below it, by namespace and key. filter is a JSON object: a "+
			`value that a field equals, or operators, such as {"kind": "note", "stars": {"$gte": 3}}. The operators are $eq, `+
			"$ne, $gt, $gte, $lt, $lte; the last four compare numbers with numbers and texts with texts. A field that is "+
			"absent counts as null. A page of a filtered list may be short or empty, with a nextCursor. With query, the "+
			"documents most relevant to it come in one page, except those that were put with an empty index.",
	), s.list)
}

func (s documentLists) list(ctx context.Context, c Caller, in *documentsInput) (foundDocuments, error) {
	under, err := optionalNamespace("namespace", in.Namespace)
	if err != nil {
		return foundDocuments{}, err
	}
	f, err := document.ParseFilter("filter", in.Filter)
	if err != nil {
		return foundDocuments{}, err
	}
	if in.Query != "" {
		if in.Cursor != "" {
			return foundDocuments{}, fault.InvalidField("cursor", "is not a cursor of this list, which has one page with query")
		}
		return s.find(ctx, c, recall.DocumentQuery{Query: string(in.Query), Under: under, Filter: f, Limit: in.Limit})
	}
	unscored := func(d document.Document) foundDocument { return foundDocument{Document: shown[Document](d)} }
	found, err := listed(s.server, c, in.ListInput, false, unscored,
		func(page conversation.Page) ([]document.Document, conversation.Position, error) {
			return s.store.Documents(ctx, c.User, under, f, page)
		})
	return foundDocuments{Items: found.Items, NextCursor: found.NextCursor}, err
}

// find returns the documents that are most relevant to a query.
func (s documentLists) find(ctx context.Context, c Caller, q recall.DocumentQuery) (foundDocuments, error) {
	found, err := s.search.Documents(ctx, c.User, q)
	scored := func(r recall.Record) foundDocument { return foundDocument{shown[Document](*r.Document), &r.Score} }
	items, degraded := fittingFound(converted(found.Records, scored), found.Degraded)
	return foundDocuments{Items: items, Degraded: degraded}, err
}
