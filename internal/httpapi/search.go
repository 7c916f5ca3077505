package httpapi

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/recall/rank"
)

// recordKind is one of recall.Kinds.
type recordKind string

// Schema lists the kinds.
func (recordKind) Schema(huma.Registry) *huma.Schema {
	return oneOfSchema("", recall.Kinds())
}

type searchBody struct {
	Query searchText   `json:"query" doc:"The text to search for."`
	Kinds []recordKind `json:"kinds,omitempty" from:"-" maxItems:"8" doc:"Only these kinds."`
	SearchLimits
}

// foundRecord is a message, a summary, a memory or a document with its kind and score. The schema has the fields of all
// four (describeRecords).
type foundRecord struct {
	Kind     recordKind         `json:"kind" doc:"What the item is."`
	Score    float64            `json:"score" doc:"The estimated probability that it helps to answer the query."`
	Features rank.Contributions `json:"features,omitempty"`

	of recall.Record
}

// MarshalJSON writes the fields of the record beside those of every item.
func (f foundRecord) MarshalJSON() ([]byte, error) {
	type item foundRecord // without this method
	switch {
	case f.of.Summary != nil:
		return json.Marshal(struct { // a summary has a score of its own
			Kind     recordKind         `json:"kind"`
			Features rank.Contributions `json:"features,omitempty"`
			recall.SummaryHit
		}{f.Kind, f.Features, *f.of.Summary})
	case f.of.Memory != nil:
		return json.Marshal(struct {
			item
			Memory
		}{item(f), shown[Memory](*f.of.Memory)})
	case f.of.Document != nil:
		return json.Marshal(struct {
			item
			Document
		}{item(f), shown[Document](*f.of.Document)})
	}
	return json.Marshal(struct {
		item
		Message
	}{item(f), shown[Message](*f.of.Message)})
}

// toFound converts what a search has found.
func toFound(r recall.Record) foundRecord {
	kind := recall.MessageKind
	switch {
	case r.Summary != nil:
		kind = recall.SummaryKind
	case r.Memory != nil:
		kind = recall.MemoryKind
	case r.Document != nil:
		kind = recall.DocumentKind
	}
	return foundRecord{Kind: recordKind(kind), Score: r.Score, Features: r.Contributions, of: r}
}

type searchAnswer struct {
	Items    []foundRecord        `json:"items" doc:"The most relevant first."`
	Degraded []recall.Degradation `json:"degraded" doc:"The sources that did not answer."`
}

func (s contexts) search(ctx context.Context, c Caller, in *docInput[searchBody]) (searchAnswer, error) {
	q, err := in.Body.query(in.Body)
	if err != nil {
		return searchAnswer{}, err
	}
	found, err := s.recaller.Records(ctx, c.User, recall.RecordQuery{MessageQuery: q, Kinds: toStrings(in.Body.Kinds)})
	items, degraded := fittingFound(converted(found.Records, toFound), found.Degraded)
	return searchAnswer{Items: items, Degraded: degraded}, err
}

// describeRecords adds the fields of the four kinds, with their descriptions, to the schema of an item of a search.
func describeRecords(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas.Map()
	item := schemas["FoundRecord"]
	for _, kind := range []string{"Memory", "RecallSummaryHit", "Message", "Document"} {
		for name, property := range schemas[kind].Properties {
			if item.Properties[name] == nil {
				item.Properties[name] = property
			}
		}
	}
}
