package erasure

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
)

// CutStore deletes the messages of a session that stays.
type CutStore interface {
	// ClearSession begins the session anew, without messages and summary, in one transaction. The answer is the tombstone
	// of the session as it was, as SessionStore.DeleteSession returns it. It is a Conflict where the messages are in the
	// app's own record.
	ClearSession(ctx context.Context, user conversation.UserID, id string, due time.Time) (Tombstone, error)
	// Truncate carries a truncation out, in one transaction. The tombstone has the vectors of the deleted messages and of
	// the summary; its ID is empty where nothing was deleted. It is a Conflict where the session's last messages are not
	// the expected ones, and where the messages are in the app's own record.
	Truncate(ctx context.Context, user conversation.UserID, in conversation.Truncation,
		vectors func(conversation.Message) []string, due time.Time) (conversation.Truncated, Tombstone, error)
}

// ClearSession deletes all messages of a session, which stays, with what derives from them, as DeleteSession does. It
// returns how many there were.
func (s *Service) ClearSession(ctx context.Context, user conversation.UserID, id string) (int, error) {
	t, err := s.Cuts.ClearSession(ctx, user, id, s.Now().Add(resumeAfter))
	if err != nil {
		return 0, err
	}
	return t.Session.MessageCount, s.emptyAll(ctx, t)
}

// Truncate deletes the last messages of a session with what derives from them, as DeleteMessage does, and appends
// others in their place. The session changes in one step. When a later step fails, the sweep goes on.
func (s *Service) Truncate(ctx context.Context, user conversation.UserID, in conversation.Truncation,
) (conversation.Truncated, error) {
	out, t, err := s.Cuts.Truncate(ctx, user, in, indexing.MessageVectorIDs, s.Now())
	if err != nil || t.ID == "" {
		return out, err
	}
	return out, s.deleteTraces(ctx, t)
}
