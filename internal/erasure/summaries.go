package erasure

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
)

// SummaryStore reads and deletes summaries.
type SummaryStore interface {
	// RecentSessions returns one page of the user's sessions with their summaries, the latest first.
	RecentSessions(ctx context.Context, user conversation.UserID, recent conversation.RecentSessions,
		page conversation.Page) ([]conversation.Session, conversation.Position, error)
	// ForgetSummary deletes a session's summary with the coach's spine, so that both are written anew. The answer has the
	// session and the summary's vector, or no session where another writer has replaced the summary since it was read.
	ForgetSummary(ctx context.Context, user conversation.UserID, session conversation.Session) (Tombstone, error)
}

const (
	// summaryPages is how many pages of sessions, the latest first, are read for summaries that say what is forgotten.
	summaryPages, summaryPage = 6, 50
)

// summarizedIn returns the sessions of a store whose summaries say what is forgotten and were written of what was said
// before the user asked for it. Those of sessions without messages are the app's.
func (f Forgetting) summarizedIn(ctx context.Context, store SummaryStore, user conversation.UserID,
) (found []conversation.Session, err error) {
	if len(f.What.Content) == 0 {
		return nil, nil
	}
	page := conversation.Page{Limit: summaryPage}
	for range summaryPages {
		sessions, next, err := store.RecentSessions(ctx, user, conversation.RecentSessions{}, page)
		if err != nil {
			return nil, err
		}
		for _, session := range sessions {
			if f.isSummarizedIn(session) {
				found = append(found, session)
			}
		}
		if page.After = next; next == "" {
			break
		}
	}
	return found, nil
}

func (f Forgetting) isSummarizedIn(session conversation.Session) bool {
	sum := session.Summary
	if sum == nil || session.LastSeq == 0 || session.LastMessageAt.After(f.What.At) && sum.UpdatedAt.After(f.What.At) {
		return false
	}
	isSaid := func(day conversation.DaySummary) bool { return f.What.Mentions(day.Text) }
	return f.What.Mentions(sum.Text) || slices.ContainsFunc(sum.Days, isSaid)
}
