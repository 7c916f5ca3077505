package httpapi

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
)

// leastRead is how many sessions are read at once for a page that is filtered by attributes.
const leastRead = 50

// filteredSessions is a list of the sessions whose attributes pass a filter.
type filteredSessions struct {
	store      conversation.SessionStore
	user       conversation.UserID
	filter     conversation.SessionFilter
	attributes document.Filter
}

// page returns a page of the list. The store is asked for more sessions than the page has room for, because few may
// pass, and at most maxFilterReads times. Where more pass than there is room for, the last sessions are read again, up
// to the last that fits, so that the store's position is that of the next page.
func (l filteredSessions) page(ctx context.Context, page conversation.Page,
) (kept []conversation.Session, next conversation.Position, err error) {
	if len(l.attributes) == 0 {
		return l.store.Sessions(ctx, l.user, l.filter, page)
	}
	for range maxFilterReads {
		read := page
		read.Limit = max(page.Limit, leastRead)
		found, next, err := l.store.Sessions(ctx, l.user, l.filter, read)
		if err != nil {
			return nil, "", err
		}
		passed, end := l.passing(found, page.Limit)
		if end < len(found) {
			read.Limit = end
			if found, next, err = l.store.Sessions(ctx, l.user, l.filter, read); err != nil {
				return nil, "", err
			}
			passed, _ = l.passing(found, page.Limit)
		}
		kept = append(kept, passed...)
		page.After, page.Limit = next, page.Limit-len(passed)
		if next == "" || page.Limit == 0 {
			break
		}
	}
	return kept, page.After, nil
}

// passing returns the sessions that pass, at most limit, and how many sessions end with the last of so many.
func (l filteredSessions) passing(sessions []conversation.Session, limit int) (passed []conversation.Session, end int) {
	for i, s := range sessions {
		if l.attributes.MatchesObject(s.Attributes) {
			passed = append(passed, s)
		}
		if len(passed) == limit {
			return passed, i + 1
		}
	}
	return passed, len(sessions)
}
