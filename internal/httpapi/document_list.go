package httpapi

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/internal/document"
)

type documentsInput struct {
	ListInput
	Namespace namespaceText `query:"namespace" doc:"Only documents in this namespace and in those below it."`
	Filter    string        `query:"filter" maxLength:"4096" doc:"Conditions on the fields of values, as JSON."`
}

// documentLists serves the list of documents, which can be a search.
type documentLists struct {
	*server
	store document.Reader
}

func (s documentLists) register() {
	register(s.server, operation{
		method: http.MethodGet, path: "/v1/documents", id: "listDocuments", tag: documentTag,
		summary: "List documents",
		detail: documentDetail + `Those of a namespace and below it, by namespace and key. filter is a JSON object: a ` +
			`value that a top-level field equals, or operators, such as {"kind": "note", "stars": {"$gte": 3}}. The ` +
			"operators are $eq, $ne, $gt, $gte, $lt, $lte; the last four compare numbers with numbers and texts with texts. A field that a " +
			"value lacks counts as null. A page of a filtered list may be short or empty, with a nextCursor.",
	}, s.list)
}

func (s documentLists) list(ctx context.Context, c Caller, in *documentsInput) (*listOutput[Document], error) {
	under, err := optionalNamespace("namespace", in.Namespace)
	if err != nil {
		return nil, err
	}
	f, err := document.ParseFilter(in.Filter)
	if err != nil {
		return nil, err
	}
	page, scope, err := s.page(c, in.ListInput, false)
	if err != nil {
		return nil, err
	}
	found, next, err := s.store.Documents(ctx, c.User, under, f, page)
	if err != nil {
		return nil, err
	}
	return newList(s.server, scope, found, next, toDocument), nil
}
