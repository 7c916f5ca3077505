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
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/vector"
)

// Store is what recall reads from the table.
type Store interface {
	AccessReader
	RecordReader
	MemoryReader
	document.Lister
}

// PastMemories is how many past memories a search reads, the newest first.
const PastMemories = 1000

// MemoryReader reads what a search of facts ranks.
type MemoryReader interface {
	// Memories returns the user's memories of that generation: the live ones, and withPast the newest PastMemories others.
	Memories(ctx context.Context, user conversation.UserID, generation int64, withPast bool) ([]longterm.Memory, error)
}

// AccessReader reads what decides what a search may see.
type AccessReader interface {
	longterm.AccessReader
	// Session is the method of conversation.SessionStore.
	Session(ctx context.Context, user conversation.UserID, id string) (conversation.Session, error)
}

// Resolver reads records by the ids of their vectors.
type Resolver interface {
	// Resolve reads the records of vector ids, in the order of the ids, with one batch read for each hundred ids.
	// Records that are deleted, superseded, expired or of another generation are left out.
	Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string) ([]Hit, error)
}

// RecordReader reads what a search returns.
type RecordReader interface {
	Resolver
	// RecentSessions returns one page of the sessions of some contexts that were active since a time, latest first, with
	// their summaries.
	RecentSessions(
		ctx context.Context, user conversation.UserID, recent conversation.RecentSessions, page conversation.Page,
	) ([]conversation.Session, conversation.Position, error)
	conversation.TimelineReader
}

// Options tune a Service; zero values take the defaults.
type Options struct {
	// EmbedTimeout and IndexTimeout are how long a search waits for the embedding (2 s) and the vector index (1 s).
	EmbedTimeout, IndexTimeout time.Duration
	// Version is the version of the model.
	Version string
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
	embedder vector.Embedder
	index    vector.Querier
	Options
}

// New builds a Service.
func New(store Store, embedder vector.Embedder, index vector.Querier, o Options) *Service {
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

	Message  *conversation.Message
	Summary  *summary.Summary
	Memory   *longterm.Memory
	CheckIn  *longterm.CheckIn
	Document *document.Document
}

// Value is what hits are ordered by: the rank where there is one, else the score.
func (h Hit) Value() float64 { return cmp.Or(h.Rank, h.Score) }

// OccurredAt is the time of a message or a check-in, the time of the last message that a summary covers, or the time of
// the last change of a memory or a document.
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
	case h.Document != nil:
		return h.Document.UpdatedAt
	}
	return time.Time{}
}

// Degradation says that a source was not asked or did not answer, and why. A user may read the reason.
type Degradation struct {
	Source string `json:"source" doc:"The name of the source."`
	Reason string `json:"reason" doc:"Why, in words."`
}

// The sources that a search can do without, besides the index, whose name is its own. The table is not one of them, but
// it may have more sessions than are read.
const (
	EmbeddingSource = "embedding"
	SessionsSource  = "sessions"
)
