package indexing

import (
	"context"
	"maps"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/vector"
	"github.com/throughline/throughline/internal/word"
)

// parallelUpserts is how many users' vectors the indexer writes at once. An index takes those of one user in a call, so
// that a batch of the stream takes about as many calls as it has users.
const parallelUpserts = 32

// Indexer writes records to vector indexes. Every write can be repeated, because ids are deterministic. It is safe for
// concurrent use.
type Indexer struct{ indexes []vector.Held }

var _ summary.Indexer = (*Indexer)(nil)

// NewIndexer builds an Indexer that writes to each of the indexes, in their order, with the index's own model. The
// version of a model is stored with each record, and so is the form of its words, so that records of others can be
// found.
func NewIndexer(indexes ...vector.Held) *Indexer { return &Indexer{indexes} }

// Batch is a set of messages of one user and one generation.
type Batch struct {
	User       conversation.UserID
	Generation int64
	// Messages are ordered by seq within each session; sessions may be mixed.
	Messages []conversation.Message
	// Previous has, by session id, the content of the message before the session's first one in Messages. A message is
	// also found by the words of the message before it. Without that it is found by its own words alone.
	Previous map[string]string
}

func (b Batch) documents() []document {
	previous := maps.Clone(b.Previous)
	if previous == nil {
		previous = map[string]string{}
	}
	var out []document
	for _, m := range b.Messages {
		if !m.IsSearched() {
			continue
		}
		if word.HasContent(m.Content) { // nobody looks for an "ok"
			out = append(out, messageDocuments(m, previous[m.SessionID])...)
		}
		if m.Role != conversation.RoleSystem {
			previous[m.SessionID] = m.Content
		}
	}
	return out
}

// IndexMessages indexes messages of one user and generation.
func (x *Indexer) IndexMessages(
	ctx context.Context, user conversation.UserID, generation int64, messages []conversation.Message,
) error {
	return x.IndexBatches(ctx, []Batch{{User: user, Generation: generation, Messages: messages}})[0]
}

// IndexBatches indexes messages of many users. They are embedded together and written to the namespaces in parallel.
// It returns one error for each batch, nil where the batch is indexed.
func (x *Indexer) IndexBatches(ctx context.Context, batches []Batch) []error {
	uploads := make([]upload, len(batches))
	for i, b := range batches {
		uploads[i] = upload{b.User, b.Generation, b.documents()}
	}
	return x.write(ctx, uploads)
}

// IndexSummary indexes a summary under its id and replaces the vector that is there.
func (x *Indexer) IndexSummary(ctx context.Context, user conversation.UserID, s summary.Summary) error {
	return x.write(ctx, []upload{{user, s.Generation, []document{summaryDocument(s)}}})[0]
}

// IndexHits indexes summaries, memories, check-ins and documents of one user and generation, with one embedding for
// all.
func (x *Indexer) IndexHits(ctx context.Context, user conversation.UserID, generation int64, hits []recall.Hit) error {
	var documents []document
	for _, h := range hits {
		switch {
		case h.Summary != nil && h.Summary.Text != "":
			documents = append(documents, summaryDocument(*h.Summary))
		case h.Memory != nil:
			documents = append(documents, memoryDocument(*h.Memory))
		case h.CheckIn != nil && h.CheckIn.Note != "":
			documents = append(documents, checkInDocument(*h.CheckIn))
		case h.Document != nil:
			documents = append(documents, appDocuments(h.ID, *h.Document)...)
		}
	}
	return x.write(ctx, []upload{{user, generation, documents}})[0]
}

// Delete deletes vectors from the indexes. Deleting one that is not there is no error.
func (x *Indexer) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	for _, index := range x.indexes {
		if err := index.Delete(ctx, user, generation, ids); err != nil {
			return err
		}
	}
	return nil
}

// upload is a set of documents for one namespace.
type upload struct {
	user       conversation.UserID
	generation int64
	documents  []document
}

// write stores the documents of all uploads in each index. It returns one error for each upload. An index that comes
// later gets what those before it have: an upload that one of them refuses is tried again as a whole.
func (x *Indexer) write(ctx context.Context, uploads []upload) []error {
	errs := make([]error, len(uploads))
	made := map[string][][]float32{} // the vectors of the uploads' documents, by the model's version
	for _, index := range x.indexes {
		x.writeTo(ctx, index, uploads, made, errs)
	}
	return errs
}

// writeTo stores those uploads in an index that have no error yet. It embeds their documents in one call, unless
// another index has the same model. It does not embed what the index would refuse.
func (x *Indexer) writeTo(
	ctx context.Context, index vector.Held, uploads []upload, made map[string][][]float32, errs []error,
) {
	parallel.Each(len(uploads), parallelUpserts, func(i int) {
		if errs[i] == nil && len(uploads[i].documents) > 0 {
			errs[i] = index.Room(ctx, uploads[i].user, uploads[i].generation)
		}
	})
	dense, err := x.embed(ctx, index.Model, uploads, made, errs)
	parallel.Each(len(uploads), parallelUpserts, func(i int) {
		u := uploads[i]
		switch {
		case errs[i] != nil || len(u.documents) == 0:
		case err != nil:
			errs[i] = err
		default:
			errs[i] = index.Upsert(ctx, u.user, u.generation, vectorRecords(index.Model, u.documents, dense[i]))
		}
	})
}

// embed returns the vectors of the documents of each upload that has no error.
func (x *Indexer) embed(
	ctx context.Context, m vector.Model, uploads []upload, made map[string][][]float32, errs []error,
) ([][][]float32, error) {
	var inputs []string
	places := map[string]int{} // equal texts are embedded once
	out := make([][][]float32, len(uploads))
	for i, u := range uploads {
		for _, d := range u.documents {
			if _, known := places[d.text]; errs[i] == nil && !known {
				places[d.text] = len(inputs)
				inputs = append(inputs, d.text)
			}
		}
	}
	if len(inputs) == 0 {
		return out, nil
	}
	vectors, ok := made[m.Version]
	if !ok || len(vectors) != len(inputs) { // an upload that another index refused is not among the inputs
		var err error
		if vectors, err = m.Embed(ctx, inputs); err != nil {
			return nil, err
		}
		made[m.Version] = vectors
	}
	for i, u := range uploads {
		for _, d := range u.documents {
			if errs[i] == nil {
				out[i] = append(out[i], vectors[places[d.text]])
			}
		}
	}
	return out, nil
}

// vectorRecords returns the records of documents with their dense vectors.
func vectorRecords(m vector.Model, documents []document, dense [][]float32) []vector.Record {
	out := make([]vector.Record, len(documents))
	for i, d := range documents {
		metadata := maps.Clone(d.metadata) // another index gets the document, too
		metadata["wordForm"] = word.Form
		if m.Version != "" {
			metadata[vector.FieldEmbedding] = m.Version
		}
		out[i] = vector.Record{ID: d.id, Dense: dense[i], Sparse: vector.Encode(d.text), Metadata: metadata}
	}
	return out
}
