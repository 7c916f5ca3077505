package summary

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
)

// Due names a session that the sweep has to look at.
type Due struct {
	User      conversation.UserID
	Context   string
	SessionID string
	DueAt     time.Time
}

// Store is what summarising reads and writes.
type Store interface {
	// SessionIn reads a session of a known context, consistently.
	SessionIn(ctx context.Context, user conversation.UserID, context, id string) (conversation.Session, error)
	// MessagesAfter reads a session's messages with a seq above after, oldest first, at most limit, complete
	// whatever the indexes lag.
	MessagesAfter(ctx context.Context, user conversation.UserID, session conversation.Session, after, limit int) ([]conversation.Message, error)
	// RecentSessions returns the sessions active since then, latest first.
	RecentSessions(ctx context.Context, user conversation.UserID, since time.Time, limit int) ([]conversation.Session, error)
	// SaveSummary stores the summary record and the session's copy of it in one transaction, and raises the watermark
	// summarizedSeq when the model wrote it: a session with a stand-in stays due. One without a text raises the
	// watermark alone. It is a Conflict unless the summary Replaces what the session has; NotFound when the session is
	// gone or of another generation.
	SaveSummary(ctx context.Context, user conversation.UserID, session conversation.Session, s Summary) error
	// DueBefore lists sessions whose dueAt has come, from all shards, earliest first, at most limit.
	DueBefore(ctx context.Context, at time.Time, limit int) ([]Due, error)
	// Rearm sets when the sweep looks at the session next; Settle removes it from the due index when nothing is
	// uncovered, and leaves it otherwise.
	Rearm(ctx context.Context, user conversation.UserID, session conversation.Session, at time.Time) error
	Settle(ctx context.Context, user conversation.UserID, session conversation.Session) error
}

// Completer asks a model for one whole answer.
type Completer interface {
	Complete(ctx context.Context, r llm.Request) (llm.Completion, error)
}

// Indexer makes a stored summary findable.
type Indexer interface {
	IndexSummary(ctx context.Context, user conversation.UserID, s Summary) error
}
