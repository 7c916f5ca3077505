package choose

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/summary"
)

// newestSummary is the session with the newest summary of a subject, and the time of its last message.
type newestSummary struct {
	sessionID string
	at        time.Time
}

// newestSummaries finds the newest summary of each subject: among this session, the other ones, and what the search
// found.
func newestSummaries(src *gather.Sources) map[summary.Subject]newestSummary {
	newest := map[summary.Subject]newestSummary{}
	add := func(s *conversation.Session) {
		if of, ok := summary.SubjectOf(*s); ok && s.LastMessageAt.After(newest[of].at) {
			newest[of] = newestSummary{s.ID, s.LastMessageAt}
		}
	}
	add(&src.Session)
	for i := range src.Sessions {
		add(&src.Sessions[i])
	}
	for _, h := range src.Hits {
		if h.Summary != nil {
			s := gather.SessionOfHit(*h.Summary, src.Zone)
			add(&s)
		}
	}
	return newest
}

// isSuperseded reports whether another session has a newer summary of the same program or workout. The summary of this
// session is not superseded, because it replaces what the prompt leaves out of the conversation itself.
func (c *chooser) isSuperseded(s *conversation.Session) bool {
	of, ok := summary.SubjectOf(*s)
	newest := c.newest[of]
	return ok && s.ID != c.Session.ID && newest.sessionID != s.ID && newest.at.After(s.LastMessageAt)
}

// reasonSuperseded is the reason of a summary that is left out for a newer one.
const reasonSuperseded = "a newer summary is about the same program or workout"
