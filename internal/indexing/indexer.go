package indexing

import (
	"context"
	"maps"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/vector"
)

// parallelUpserts is how many users' vectors the indexer writes at once. An index takes those of one user in a call, so
// that a batch of the stream takes about as many calls as it has users.
const parallelUpserts = 32

// Index is where an Indexer writes.
type Index interface {
	// WrittenTo returns the names of the indexes to which the user's vectors have to be written. It returns an error with
	// vector.ErrQuota in its chain when one of them has no room for them.
	WrittenTo(ctx context.Context, user conversation.UserID, generation int64) ([]string, error)
	// Upsert stores records in one of these indexes.
	Upsert(
		ctx context.Context, user conversation.UserID, generation int64, index string, records []vector.Record,
	) error
	// Delete deletes records from every index that may have vectors of the user. It ignores ids without a record.
	Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error
}

var _ Index = (*vector.Router)(nil)

// Indexer writes records to the vector index. Every write can be repeated, because ids are deterministic. It is safe
// for concurrent use.
type Indexer struct {
	usual  vector.Model
	models vector.Models
	index  Index
}

var _ summary.Indexer = (*Indexer)(nil)

// NewIndexer builds an Indexer. The version of the embeddings, such as the name of their model, is stored with each
// record, so that records of another version can be found.
func NewIndexer(embedder vector.Embedder, index Index, version string) *Indexer {
	return &Indexer{usual: vector.Model{Embedder: embedder, Version: version}, index: index}
}

// WithModels returns the Indexer with the models of indexes that have another one.
func (x *Indexer) WithModels(models vector.Models) *Indexer {
	return &Indexer{usual: x.usual, models: models, index: x.index}
}

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
		out = append(out, messageDocuments(m, previous[m.SessionID])...)
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

// Delete deletes vectors from the index. Deleting one that is not there is no error.
func (x *Indexer) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	return x.index.Delete(ctx, user, generation, ids)
}

// upload is a set of documents for one namespace.
type upload struct {
	user       conversation.UserID
	generation int64
	documents  []document
}

// write embeds the documents of all uploads and stores them, with the model of each index to which they go. It returns
// one error for each upload. It does not embed what an index would refuse.
func (x *Indexer) write(ctx context.Context, uploads []upload) []error {
	errs := make([]error, len(uploads))
	indexes := make([][]string, len(uploads))
	parallel.Each(len(uploads), parallelUpserts, func(i int) {
		indexes[i], errs[i] = x.index.WrittenTo(ctx, uploads[i].user, uploads[i].generation)
	})
	var groups []*modelGroup
	for i, u := range uploads {
		if errs[i] == nil {
			groups = x.addUpload(groups, i, u, indexes[i])
		}
	}
	parallel.Each(len(groups), parallelUpserts, func(g int) { x.writeGroup(ctx, groups[g]) })
	for _, g := range groups {
		for j, p := range g.parts {
			if g.errs[j] != nil {
				errs[p.place] = g.errs[j]
			}
		}
	}
	return errs
}

// modelGroup is what is embedded with one model, in one call. errs has one error for each part.
type modelGroup struct {
	vector.Model
	parts []modelPart
	errs  []error
}

// modelPart is an upload, by its place, and its indexes that have the model.
type modelPart struct {
	place int
	upload
	indexes []string
}

// addUpload adds an upload to the groups of its indexes' models. Indexes with the same model share the embeddings.
func (x *Indexer) addUpload(groups []*modelGroup, place int, u upload, indexes []string) []*modelGroup {
	for _, index := range indexes {
		model := x.models.Of(index, x.usual)
		at := slices.IndexFunc(groups, func(g *modelGroup) bool { return g.Version == model.Version })
		if at < 0 {
			at, groups = len(groups), append(groups, &modelGroup{Model: model})
		}
		g := groups[at]
		if n := len(g.parts); n > 0 && g.parts[n-1].place == place {
			g.parts[n-1].indexes = append(g.parts[n-1].indexes, index)
			continue
		}
		g.parts = append(g.parts, modelPart{place, u, []string{index}})
	}
	return groups
}

// writeGroup embeds the documents of a group in one call and stores them in the indexes.
func (x *Indexer) writeGroup(ctx context.Context, g *modelGroup) {
	g.errs = make([]error, len(g.parts))
	var inputs []string
	for _, p := range g.parts {
		for _, d := range p.documents {
			inputs = append(inputs, d.text)
		}
	}
	if len(inputs) == 0 {
		return
	}
	vectors, err := g.Embed(ctx, inputs)
	records := make([][]vector.Record, len(g.parts))
	for i, p := range g.parts {
		if g.errs[i] = err; err == nil {
			records[i], vectors = vectorRecords(g.Model, p.documents, vectors[:len(p.documents)]), vectors[len(p.documents):]
		}
	}
	parallel.Each(len(g.parts), parallelUpserts, func(i int) {
		p := g.parts[i]
		for _, index := range p.indexes {
			if g.errs[i] == nil {
				g.errs[i] = x.index.Upsert(ctx, p.user, p.generation, index, records[i])
			}
		}
	})
}

// vectorRecords returns the records of documents with their dense vectors.
func vectorRecords(m vector.Model, documents []document, dense [][]float32) []vector.Record {
	out := make([]vector.Record, len(documents))
	for i, d := range documents {
		metadata := maps.Clone(d.metadata) // the indexes of another model get the document, too
		if m.Version != "" {
			metadata["embedding"] = m.Version
		}
		out[i] = vector.Record{ID: d.id, Dense: dense[i], Sparse: vector.Encode(d.text), Metadata: metadata}
	}
	return out
}
