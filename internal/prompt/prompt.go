// Package prompt builds each model call's prompt from everything that Throughline knows, within a token budget, and
// records what went in and why (design 4.4). One engine does it in five steps: gather, select, fit, render, record.
// The first three know nothing of formats; a recipe is data.
package prompt

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
)

// Store is what a prompt reads from the table.
type Store interface {
	// Open reads a session of a known context together with the user's preferences and generation, consistently,
	// in one call. A session that does not exist, or is another user's, is NotFound.
	Open(ctx context.Context, user conversation.UserID, context, sessionID string) (conversation.Session, longterm.Access, error)
	// Tail returns a session's last n messages, oldest first, complete whatever the indexes lag.
	Tail(ctx context.Context, user conversation.UserID, session conversation.Session, n int) ([]conversation.Message, error)
	// RecentSessions returns the sessions active since then, latest first, whole (with their summaries).
	RecentSessions(ctx context.Context, user conversation.UserID, since time.Time, limit int) ([]conversation.Session, error)
	// Timeline is conversation.MessageStore's.
	Timeline(ctx context.Context, user conversation.UserID, r conversation.Range, page conversation.Page) ([]conversation.Message, conversation.Position, error)
	// LongTerm returns the user's live long-term memory in one query.
	LongTerm(ctx context.Context, user conversation.UserID) (longterm.Snapshot, error)
}

// Searcher is the chain embedding, vector index, table: what matters to a text, best first.
type Searcher interface {
	Search(ctx context.Context, user conversation.UserID, q recall.Search) (recall.Found, error)
}

// Counter counts a text's tokens as the target model's family does.
type Counter interface {
	Count(text string) int
}
