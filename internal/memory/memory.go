// Package memory makes what was said findable and, later, remembered: it indexes messages as they arrive on the
// table's stream (design 4.3). The session's watermarks are the truth; stream records are hints.
package memory

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
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
}

// SessionRef names a session by its context and id, with the generation that its messages are of.
type SessionRef struct {
	Context    string
	SessionID  string
	Generation int64
}
