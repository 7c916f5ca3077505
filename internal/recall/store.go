package recall

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/vector"
)

// Embedder turns texts into dense, normalised vectors, one for each text, in their order.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Index finds and keeps vectors in one user's namespace of one generation.
type Index interface {
	Query(ctx context.Context, user conversation.UserID, generation int64, q vector.Query) ([]vector.Match, error)
	Upsert(ctx context.Context, user conversation.UserID, generation int64, records []vector.Record) error
	Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error
	// Drop deletes the whole namespace and returns how many vectors it held.
	Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error)
}

// Store is what recall reads from the table.
type Store interface {
	// Access returns preferences and generation in one read.
	Access(ctx context.Context, user conversation.UserID) (longterm.Access, error)
	// Session is conversation.SessionStore's.
	Session(ctx context.Context, user conversation.UserID, id string) (conversation.Session, error)
	// Resolve reads the records behind vector ids, in their order, in as few batch reads as there are hundreds of
	// them. What is deleted, superseded, expired or of another generation is left out.
	Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string) ([]Hit, error)
	// RecentSessions returns the sessions active since then, latest first, whole (with their summaries).
	RecentSessions(ctx context.Context, user conversation.UserID, since time.Time, limit int) ([]conversation.Session, error)
	// Timeline is conversation.MessageStore's.
	Timeline(ctx context.Context, user conversation.UserID, r conversation.Range, page conversation.Page) ([]conversation.Message, conversation.Position, error)
}
