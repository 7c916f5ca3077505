package gather

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
)

// addSessions joins the sessions that the store lists with those of the newest messages, because the list is an index
// that may lag or be missing.
func (src *Sources) addSessions(got *read) {
	known := map[string]int{}
	for _, s := range got.sessions {
		if _, again := known[s.ID]; again || s.ID == src.Session.ID {
			continue
		}
		known[s.ID] = len(src.Sessions)
		src.Sessions = append(src.Sessions, withDetails(s, src.Zone))
	}
	if got.sessions == nil {
		src.addSessionsOfHits(got.hits, known)
	}
	for id, messages := range src.BySession {
		if id == src.Session.ID {
			continue
		}
		i, ok := known[id]
		if !ok {
			i = len(src.Sessions)
			src.Sessions = append(src.Sessions, sessionFromMessages(messages))
		}
		if last := messages[len(messages)-1]; last.Timestamp.After(src.Sessions[i].LastMessageAt) {
			src.Sessions[i].LastMessageAt = last.Timestamp
		}
	}
	src.Sessions = slices.DeleteFunc(src.Sessions, func(s conversation.Session) bool {
		return s.CoachID != src.CoachID || s.LastMessageAt.IsZero() || !src.allowsSession(s.ID, s.Context)
	})
	slices.SortFunc(src.Sessions, func(a, b conversation.Session) int {
		return cmp.Or(b.LastMessageAt.Compare(a.LastMessageAt), cmp.Compare(a.ID, b.ID))
	})
}

// withDetails adds the fields of a session's summary that its text does not mention to the text. A session without
// messages gets the time of its summary.
func withDetails(s conversation.Session, zone *time.Location) conversation.Session {
	record, ok := summary.Of(s)
	if !ok {
		return s
	}
	if s.LastMessageAt.IsZero() {
		s.StartedAt, s.LastMessageAt = record.OccurredAt, record.OccurredAt
	}
	if details := record.Details(zone); details != "" {
		detailed := *s.Summary
		detailed.Text, detailed.Tokens = detailed.Text+" "+details, 0
		s.Summary = &detailed
	}
	return s
}

// addSessionsOfHits replaces a missing list of sessions, as far as the search found their summaries.
func (src *Sources) addSessionsOfHits(hits []recall.Hit, known map[string]int) {
	for _, h := range hits {
		if h.Summary == nil || !src.allowsHit(h) {
			continue
		}
		if _, ok := known[h.Summary.SessionID]; ok {
			continue
		}
		known[h.Summary.SessionID] = len(src.Sessions)
		src.Sessions = append(src.Sessions, SessionOfHit(*h.Summary, src.Zone))
	}
}

// SessionOfHit is a session as the record of its summary shows it, with times in a zone.
func SessionOfHit(s summary.Summary, zone *time.Location) conversation.Session {
	return withDetails(conversation.Session{
		ID: s.SessionID, Context: s.Context, CoachID: s.CoachID, Attributes: s.Fields, LastSeq: s.CoveredThrough,
		StartedAt: s.OccurredAt, LastMessageAt: s.OccurredAt,
		Summary: &conversation.SessionSummary{
			Text: s.Text, Tokens: s.Tokens, Tags: s.Tags, Kind: s.Kind, InProgress: s.InProgress,
			CoveredThrough: s.CoveredThrough, UpdatedAt: s.UpdatedAt,
		},
	}, zone)
}

// sessionFromMessages derives a session from its messages.
func sessionFromMessages(messages []*conversation.Message) conversation.Session {
	first := messages[0]
	return conversation.Session{
		ID: first.SessionID, Context: first.Context, CoachID: first.CoachID, StartedAt: first.Timestamp,
		MessageCount: len(messages), LastSeq: messages[len(messages)-1].Seq,
	}
}

// HasSummary reports whether a session has a summary that says something.
func HasSummary(s *conversation.Session) bool {
	return s.Summary != nil && strings.TrimSpace(s.Summary.Text) != ""
}

// ActivityWindow is how long activity in another context counts as recent (unified-conversation-context, "Gaps to
// Consider for Phase 1": 24-48 hours, 3-5 summaries).
const ActivityWindow = 48 * time.Hour

// IsActivity reports whether a session is recent activity in another context that this one reads.
func (src *Sources) IsActivity(s *conversation.Session) bool {
	return s.Context != src.Context && src.Reads(s.Context) && src.Now.Sub(s.LastMessageAt) <= ActivityWindow
}
