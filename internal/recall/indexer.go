package recall

import (
	"context"
	"maps"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/vector"
)

// parallelUpserts is how many namespaces the indexer writes to at once. Pinecone writes to one namespace in a call, so
// that a batch of the stream takes about as many calls as it has users.
const parallelUpserts = 32

// Indexer writes records to the vector index. Every write can be repeated, because ids are deterministic. It is safe
// for concurrent use.
type Indexer struct {
	embedder Embedder
	index    Index
	version  string
}

var _ summary.Indexer = (*Indexer)(nil)

// NewIndexer builds an Indexer. The version of the embeddings, such as the name of their model, is stored with each
// record, so that records of another version can be found.
func NewIndexer(embedder Embedder, index Index, version string) *Indexer {
	return &Indexer{embedder: embedder, index: index, version: version}
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
		out = append(out, messageDocuments(m, previous[m.SessionID])...)
		if m.Role != conversation.System {
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
	return x.writeOne(ctx, user, s.Generation, summaryDocument(s))
}

// IndexMemory indexes a memory under its id.
func (x *Indexer) IndexMemory(
	ctx context.Context, user conversation.UserID, generation int64, m longterm.Memory,
) error {
	return x.writeOne(ctx, user, generation, memoryDocument(m))
}

// IndexCheckIn indexes a check-in's note under its id.
func (x *Indexer) IndexCheckIn(
	ctx context.Context, user conversation.UserID, generation int64, c longterm.CheckIn,
) error {
	return x.writeOne(ctx, user, generation, checkInDocument(c))
}

// Delete deletes vectors from the index. Deleting one that is not there is no error.
func (x *Indexer) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	return x.index.Delete(ctx, user, generation, ids)
}

func (x *Indexer) writeOne(ctx context.Context, user conversation.UserID, generation int64, d document) error {
	return x.write(ctx, []upload{{user, generation, []document{d}}})[0]
}

// upload is a set of documents for one namespace.
type upload struct {
	user       conversation.UserID
	generation int64
	documents  []document
}

// write embeds the documents of all uploads in one call and stores them. It returns one error for each upload. It does
// not embed what the index would refuse.
func (x *Indexer) write(ctx context.Context, uploads []upload) []error {
	errs := make([]error, len(uploads))
	parallel.Each(len(uploads), parallelUpserts, func(i int) {
		errs[i] = x.index.RoomFor(ctx, uploads[i].user, uploads[i].generation)
	})
	var inputs []string
	for i, u := range uploads {
		for _, d := range u.documents {
			if errs[i] == nil {
				inputs = append(inputs, d.text)
			}
		}
	}
	if len(inputs) == 0 {
		return errs
	}
	vectors, err := x.embedder.Embed(ctx, inputs)
	dense := make([][][]float32, len(uploads))
	for i, u := range uploads {
		switch {
		case errs[i] != nil:
		case err != nil:
			errs[i] = err
		default:
			dense[i], vectors = vectors[:len(u.documents)], vectors[len(u.documents):]
		}
	}
	parallel.Each(len(uploads), parallelUpserts, func(i int) {
		if u := uploads[i]; errs[i] == nil {
			errs[i] = x.index.Upsert(ctx, u.user, u.generation, x.records(u.documents, dense[i]))
		}
	})
	return errs
}

func (x *Indexer) records(documents []document, dense [][]float32) []vector.Record {
	out := make([]vector.Record, len(documents))
	for i, d := range documents {
		if x.version != "" {
			d.metadata["embedding"] = x.version
		}
		out[i] = vector.Record{ID: d.id, Dense: dense[i], Sparse: vector.Encode(d.text), Metadata: d.metadata}
	}
	return out
}
