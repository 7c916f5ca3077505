package recall

import (
	"cmp"
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// RecentQuery asks what the user did last, from outside every session.
type RecentQuery struct {
	// Contexts, where set, limits the summaries to those contexts.
	Contexts []string
	// Within is the maximum age of a summary, DefaultWithin by default. Limit is 1 to MaxSummaries.
	Within time.Duration
	Limit  int
}

// Recent returns the newest summaries of the user's sessions that the user shares with all contexts, newest first. Its
// errors are Invalid, with the fields, and those of the store.
func (s *Service) Recent(ctx context.Context, user conversation.UserID, q RecentQuery) (Summaries, error) {
	var wrong fault.Problems
	if checkBound(&wrong, "limit", q.Limit, MaxSummaries); len(wrong) > 0 {
		return Summaries{}, wrong.Err()
	}
	search := Search{
		Contexts: q.Contexts, Limit: q.Limit, From: s.Now().Add(-cmp.Or(q.Within, DefaultWithin)), HalfLife: summaryHalfLife,
	}
	for _, appContext := range conversation.AppContexts() {
		search.RecordTypes = append(search.RecordTypes, string(appContext.Summary.Type))
	}
	return s.newest(ctx, user, search)
}
