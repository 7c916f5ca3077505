// Package recall finds what matters across contexts: the newest or most relevant summaries for the start of a session,
// and the messages, memories and check-in notes nearest to a query. The vector index gives ids and scores. The table
// gives the records: a hit that the table or the user's preferences no longer allow is dropped.
package recall

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/vector"
)

// Embedder turns texts into dense, normalised vectors: one for each text, in the same order.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Index stores and finds vectors of one user and one generation. No call reaches another user's.
type Index interface {
	Query(ctx context.Context, user conversation.UserID, generation int64, q vector.Query) ([]vector.Match, error)
	// WrittenTo returns the names of the indexes to which the user's vectors have to be written: the one that is searched
	// and, while the user is being moved, the next one. It returns an error with vector.ErrQuota in its chain when one of
	// them has lately refused what the user's next vectors would need. Whoever asks first need not embed what an index
	// would refuse.
	WrittenTo(ctx context.Context, user conversation.UserID, generation int64) ([]string, error)
	// Upsert stores records in one of these indexes.
	Upsert(ctx context.Context, user conversation.UserID, generation int64, index string, records []vector.Record) error
	// Delete deletes records from every index that may have vectors of the user. Drop does, too.
	Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error
	// Drop deletes all vectors of the generation and returns how many there were. With an error, it returns how many it
	// has deleted.
	Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error)
}

// Directory says which vector indexes hold a user, where there are several.
type Directory interface {
	// Placement reads the user's record, consistently.
	Placement(ctx context.Context, user conversation.UserID) (Placement, error)
	// AssignIndex records the index of a user whose record names none, and returns what the record says then: another
	// caller may have been first.
	AssignIndex(ctx context.Context, user conversation.UserID, name string) (Placement, error)
}

// Placement is where a user's vectors are, by the names of the indexes.
type Placement struct {
	// Serving is the index that is searched. It is empty where the user's record names none.
	Serving string
	// Target is the index that the user is being moved to. Vectors are written to both, so that the target misses none
	// that is written after the move began.
	Target string
	// Retired is an index that served the user before. Its vectors will be deleted. Until then, deletions reach it.
	Retired string
	// MovedThrough is how far the move to Target has come, in the words of the store. It is empty at the beginning.
	MovedThrough string
	// Generation is the user's generation.
	Generation int64
}

// Model is an embedding model. Its version is stored with each vector, so that vectors of another one can be told.
type Model struct {
	Embedder
	Version string
}

// Models are the embedding models of vector indexes by their names. An index that is not among them has the usual one.
type Models map[string]Model

// Store is what recall reads from the table.
type Store interface {
	// Access returns preferences and generation in one read.
	Access(ctx context.Context, user conversation.UserID) (longterm.Access, error)
	// Session is the method of conversation.SessionStore.
	Session(ctx context.Context, user conversation.UserID, id string) (conversation.Session, error)
	// Resolve reads the records behind vector ids, in the order of the ids, with one batch read for each hundred ids.
	// Records that are deleted, superseded, expired or of another generation are left out.
	Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string) ([]Hit, error)
	// RecentSessions returns one page of the sessions of some contexts that were active since a time, latest first, with
	// their summaries.
	RecentSessions(
		ctx context.Context, user conversation.UserID, recent conversation.RecentSessions, page conversation.Page,
	) ([]conversation.Session, conversation.Position, error)
	// Timeline is the method of conversation.MessageStore.
	Timeline(
		ctx context.Context, user conversation.UserID, r conversation.Range, page conversation.Page,
	) ([]conversation.Message, conversation.Position, error)
}

// Options tune a Service; zero values take the defaults.
type Options struct {
	// EmbedTimeout and IndexTimeout are how long a search waits for the embedding (2 s) and the vector index (1 s).
	EmbedTimeout, IndexTimeout time.Duration
	// Version is the version of the service's own model, and Models are the models of indexes that have another one.
	Version string
	Models  Models
	// SeveralIndexes says that the user's record decides which index is asked.
	SeveralIndexes bool
	// Weights are those of the ranking; rank.Default by default.
	Weights *rank.Weights
	// Now returns the current time; time.Now by default.
	Now func() time.Time
	// Log gets the reason when a source does not answer; nothing is logged by default.
	Log *slog.Logger
}

// Service answers searches, context queries and recalls. It is safe for concurrent use.
type Service struct {
	store    Store
	embedder Embedder
	index    Index
	Options
}

// New builds a Service.
func New(store Store, embedder Embedder, index Index, o Options) *Service {
	o.EmbedTimeout = cmp.Or(o.EmbedTimeout, 2*time.Second)
	o.IndexTimeout = cmp.Or(o.IndexTimeout, time.Second)
	if o.Weights == nil {
		o.Weights = rank.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{store: store, embedder: embedder, index: index, Options: o}
}

// Hit is one record that was found, as the table has it; exactly one of the pointers is set.
type Hit struct {
	// ID is the record's id in the vector index.
	ID string
	// Score is how like the record is to the text. Rank is the probability that a message or a check-in holds what the
	// text asks for, where the search ranks them, and is 0 otherwise.
	Score, Rank float64
	// Contributions are the parts of the rank. It has none for a hit that is not ranked.
	Contributions rank.Contributions
	// Irrelevant says that the rank is too low for a place in a prompt.
	Irrelevant bool

	Message *conversation.Message
	Summary *summary.Summary
	Memory  *longterm.Memory
	CheckIn *longterm.CheckIn
}

// Value is what hits are ordered by: the rank where there is one, else the score.
func (h Hit) Value() float64 { return cmp.Or(h.Rank, h.Score) }

// OccurredAt is the time of a message or a check-in, the time of the last message that a summary covers, or the time
// of a memory's last change.
func (h Hit) OccurredAt() time.Time {
	switch {
	case h.Message != nil:
		return h.Message.Timestamp
	case h.Summary != nil:
		return h.Summary.OccurredAt
	case h.CheckIn != nil:
		return h.CheckIn.Timestamp
	case h.Memory != nil:
		return h.Memory.UpdatedAt
	}
	return time.Time{}
}

// Degradation says that a source was not asked or did not answer, and why. A user may read the reason.
type Degradation struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// The sources that a search can do without. The table is not one of them, but it may have more sessions than are read.
const (
	EmbeddingSource = "embedding"
	IndexSource     = "pinecone"
	SessionsSource  = "sessions"
)
