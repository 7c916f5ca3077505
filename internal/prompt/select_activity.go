package prompt

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
)

const (
	// ActivityWindow is how long activity in another context counts as recent (unified-conversation-context, "Gaps to
	// Consider for Phase 1": 24-48 hours, 3-5 summaries).
	ActivityWindow = 48 * time.Hour
	// maxUncovered is how many messages replace a summary that is missing or behind, and quoteChars how much of each
	// is quoted.
	maxUncovered = 4
	quoteChars   = 280
)

// selectActivity selects what the user did in the other contexts that this one reads. The store's summaries are the
// freshest; the search's scores say which matter now. Messages that a summary does not cover yet are quoted, so that
// another screen's news is here at once (unified-conversation-context, "Gaps to Consider for Phase 1", Timing).
func selectActivity(sel *selection, slot *Slot) []*entry {
	scores, top := sessionScores(sel)
	var entries []*entry
	for _, other := range sel.sessions {
		if !isActivity(sel, other) {
			continue
		}
		e := &entry{
			kind: "session", id: other.ID, sessionID: other.ID, context: other.Context, at: other.LastMessageAt,
			score: scores[other.ID], label: contextLabel(other.Context) + " - " +
				conversation.Age(other.LastMessageAt, sel.now, sel.zone),
		}
		describeActivity(sel, e, other)
		if e.text == "" {
			e.drop("it has neither a summary nor messages near enough to tell")
		} else if sel.isSuperseded(other) && e.includeReason == reasonSummary {
			e.drop(reasonSuperseded)
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(activityScore(sel, b, top), activityScore(sel, a, top)), b.at.Compare(a.at),
			cmp.Compare(a.id, b.id))
	})
	capItems(entries, slot)
	for _, e := range entries {
		e.position = int(sel.now.Sub(e.at) / time.Millisecond)
		if e.decision == "" {
			sel.claim(summaryKey(e.id), slot.Block)
			claimQuoted(sel, e, slot.Block)
		}
	}
	return entries
}

// isActivity reports whether a session is recent activity in another context that this one reads.
func isActivity(sel *selection, other conversation.Session) bool {
	return sel.recipe.has(blockActivity) && other.Context != sel.Context && sel.reads(other.Context) &&
		sel.now.Sub(other.LastMessageAt) <= ActivityWindow
}

// activityScore weighs how close a session is to the message and how recent it is, both from 0 to 1.
func activityScore(sel *selection, e *entry, top float64) float64 {
	recency := 1 - float64(sel.now.Sub(e.at))/float64(ActivityWindow)
	if top <= 0 {
		return recency
	}
	return 0.5*e.score/top + 0.5*recency
}

// sessionScores returns the best score of each other session's summary and messages, and the best score of all.
func sessionScores(sel *selection) (scores map[string]float64, top float64) {
	scores = map[string]float64{}
	for _, h := range sel.hits {
		id := ""
		switch {
		case h.Summary != nil:
			id = h.Summary.SessionID
		case h.Message != nil && h.Message.SessionID != sel.session.ID:
			id = h.Message.SessionID
		}
		if id != "" {
			scores[id] = max(scores[id], h.Score)
			top = max(top, h.Score)
		}
	}
	return scores, top
}

// describeActivity sets an entry's text: the session's summary and the messages that the summary does not cover.
func describeActivity(sel *selection, e *entry, other conversation.Session) {
	covered := 0
	var parts []string
	if sum := other.Summary; sum != nil && strings.TrimSpace(sum.Text) != "" {
		covered = sum.CoveredThrough
		parts = append(parts, sum.Text)
	}
	fresh := slices.DeleteFunc(slices.Clone(sel.bySession[other.ID]),
		func(m *conversation.Message) bool { return m.Seq <= covered })
	fresh = fresh[max(len(fresh)-maxUncovered, 0):]
	if len(fresh) > 0 {
		if covered > 0 {
			parts = append(parts, "Since then:")
		}
		for _, m := range fresh {
			speaker := speakerName(m.Role)
			if day := dayLabel(m.Timestamp, sel.now, sel.zone); day != dayLabel(other.LastMessageAt, sel.now, sel.zone) {
				speaker += " (" + day + ")" // the label names another day
			}
			parts = append(parts, speaker+": "+quote(m.Content))
		}
	}
	e.text = strings.Join(parts, " ")
	switch {
	case len(fresh) == 0:
		e.includeReason = reasonSummary
		if covered > 0 {
			e.tokens = other.Summary.Tokens
		}
	case covered > 0:
		e.includeReason = "its summary and the messages behind it"
	default:
		e.includeReason = "its last messages, for it has no summary yet"
	}
}

const reasonSummary = "its summary"

// quote writes a message in one line between quotation marks that its text cannot close.
func quote(content string) string {
	return `"` + strings.ReplaceAll(excerpt(content, quoteChars), `"`, "'") + `"`
}

// claimQuoted claims the messages that an entry quotes whole.
func claimQuoted(sel *selection, e *entry, block string) {
	for _, m := range sel.bySession[e.sessionID] {
		if utf8.RuneCountInString(m.Content) <= quoteChars && strings.Contains(e.text, quote(m.Content)) {
			sel.claim(messageKey(m.ID), block)
		}
	}
}
