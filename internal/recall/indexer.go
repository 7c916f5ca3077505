package recall

import (
	"context"
	"maps"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/vector"
)

// parallelUsers is how many namespaces one batch writes to at once.
const parallelUsers = 8

// Indexer makes records findable. Every write can be repeated: ids are deterministic. It is safe for concurrent use.
type Indexer struct {
	embedder Embedder
	index    Index
	version  string
}

var _ summary.Indexer = (*Indexer)(nil)

// NewIndexer builds an Indexer. The version of the embeddings, such as their model's name, stands with each record, so
// that what another version left can be found.
func NewIndexer(embedder Embedder, index Index, version string) *Indexer {
	return &Indexer{embedder: embedder, index: index, version: version}
}

// Batch is messages of one user and one generation.
type Batch struct {
	User       conversation.UserID
	Generation int64
	// Messages are in the order of their sessions; sessions may be mixed.
	Messages []conversation.Message
	// Before has, by session id, the content of the message before the first of that session here. A message is found
	// by the one it answers too; one without is found by its own words alone.
	Before map[string]string
}

func (b Batch) documents() []document {
	before := maps.Clone(b.Before)
	if before == nil {
		before = map[string]string{}
	}
	var out []document
	for _, m := range b.Messages {
		out = append(out, messageDocuments(m, before[m.SessionID])...)
		if m.Role != conversation.System {
			before[m.SessionID] = m.Content
		}
	}
	return out
}

// IndexMessages indexes messages of one user and generation.
func (x *Indexer) IndexMessages(ctx context.Context, user conversation.UserID, generation int64, messages []conversation.Message) error {
	return x.IndexBatches(ctx, []Batch{{User: user, Generation: generation, Messages: messages}})[0]
}

// IndexBatches indexes messages of many users: embedded together, written to each namespace in parallel. It returns
// one error for each batch, nil for those that are indexed.
func (x *Indexer) IndexBatches(ctx context.Context, batches []Batch) []error {
	sets := make([]set, len(batches))
	for i, b := range batches {
		sets[i] = set{b.User, b.Generation, b.documents()}
	}
	return x.write(ctx, sets)
}

// IndexSummary indexes a summary under its id, in place of what was there.
func (x *Indexer) IndexSummary(ctx context.Context, user conversation.UserID, s summary.Summary) error {
	return x.writeOne(ctx, user, s.Generation, summaryDocument(s))
}

// IndexMemory indexes a memory under its id.
func (x *Indexer) IndexMemory(ctx context.Context, user conversation.UserID, generation int64, m longterm.Memory) error {
	return x.writeOne(ctx, user, generation, memoryDocument(m))
}

// IndexCheckIn indexes a check-in's note under its id.
func (x *Indexer) IndexCheckIn(ctx context.Context, user conversation.UserID, generation int64, c longterm.CheckIn) error {
	return x.writeOne(ctx, user, generation, checkInDocument(c))
}

// Forget takes vectors out of the index; those that are not there are no error.
func (x *Indexer) Forget(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	return x.index.Delete(ctx, user, generation, ids)
}

func (x *Indexer) writeOne(ctx context.Context, user conversation.UserID, generation int64, d document) error {
	return x.write(ctx, []set{{user, generation, []document{d}}})[0]
}

// set is the documents that go to one namespace.
type set struct {
	user       conversation.UserID
	generation int64
	documents  []document
}

func (x *Indexer) write(ctx context.Context, sets []set) []error {
	errs := make([]error, len(sets))
	var inputs []string
	for _, s := range sets {
		for _, d := range s.documents {
			inputs = append(inputs, d.text)
		}
	}
	if len(inputs) == 0 {
		return errs
	}
	vectors, err := x.embedder.Embed(ctx, inputs)
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	var group errgroup.Group
	group.SetLimit(parallelUsers)
	for i, s := range sets {
		dense := vectors[:len(s.documents)]
		vectors = vectors[len(s.documents):]
		group.Go(func() error {
			errs[i] = x.index.Upsert(ctx, s.user, s.generation, x.records(s.documents, dense))
			return nil
		})
	}
	_ = group.Wait() // each set has its own error
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
