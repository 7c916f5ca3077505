// Package memory makes what was said and noted findable: it indexes messages, memories and check-ins as they arrive on
// the table's stream (design 4.3). The session's watermarks are the truth; stream records are hints.
package memory

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// Store is what indexing reads and writes.
type Store interface {
	// SessionIn reads a session of a known context, consistently.
	SessionIn(ctx context.Context, user conversation.UserID, context, id string) (conversation.Session, error)
	// MessagesAfter reads a session's messages with a seq above after, oldest first, at most limit, complete
	// whatever the indexes lag.
	MessagesAfter(ctx context.Context, user conversation.UserID, session conversation.Session, after, limit int) ([]conversation.Message, error)
	// MarkIndexed raises the session's indexedSeq from exactly from-1 to through; it is a Conflict when the
	// watermark stands elsewhere, and NotFound when the session is gone or of another generation.
	MarkIndexed(ctx context.Context, user conversation.UserID, ref SessionRef, from, through int) error
	// Resolve reads the records behind vector ids; what is deleted, superseded or of another generation is left out.
	Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string) ([]recall.Hit, error)
}

// SessionRef names a session by its context and id, with the generation that its messages are of.
type SessionRef struct {
	Context    string
	SessionID  string
	Generation int64
}
