package choose

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/untrusted"
	"github.com/throughline/throughline/internal/word"
)

const (
	// maxUncovered is how many messages are quoted that the summary does not cover yet, and quoteChars how much of each.
	maxUncovered = 4
	quoteChars   = 280
)

// chooseActivity chooses what the user did in the other contexts that this one reads. The store's summaries are the
// freshest; the search's scores say which matter now. Messages that a summary does not cover yet are quoted, so that
// another screen's news is here at once (unified-conversation-context, "Gaps to Consider for Phase 1", Timing).
func chooseActivity(c *chooser, slot *Slot) []*Candidate {
	scores, top := sessionScores(c)
	var candidates []*Candidate
	for i := range c.Sessions {
		other := &c.Sessions[i]
		if !c.IsActivity(other) {
			continue
		}
		e := &Candidate{
			Kind: kindSession, ID: other.ID, SessionID: other.ID, Context: other.Context, At: other.LastMessageAt,
			Score: scores[other.ID], Label: ContextLabel(other.Context) + " - " +
				conversation.Age(other.LastMessageAt, c.Now, c.Zone),
			// The age of what was said today changes while the session goes on.
			Fresh: c.StablePrefix && len(c.Own) > 0 && calendar.IsSameDay(other.LastMessageAt, c.Now, c.Zone),
		}
		if describeActivity(c, e, other); e.Text == "" {
			e.leave(reasonWithout(c, other))
		}
		candidates = append(candidates, e)
	}
	slices.SortStableFunc(candidates, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(activityScore(c, b, top), activityScore(c, a, top)), b.At.Compare(a.At),
			cmp.Compare(a.ID, b.ID))
	})
	capItems(candidates, slot)
	for _, e := range candidates {
		e.Position = int(c.Now.Sub(e.At) / time.Millisecond)
		if e.Left == "" {
			c.claim(summaryKey(e.ID), slot.Block)
			claimQuoted(c, e, slot.Block)
			claimDays(c, e.ID, slot.Block)
		}
	}
	return candidates
}

// reasonWithout says why there is nothing to tell of a session.
func reasonWithout(c *chooser, other *conversation.Session) string {
	if c.isSuperseded(other) {
		return reasonSuperseded
	}
	return "it has neither a summary nor messages near enough that say more than " + block.Safety + " does"
}

// activityScore weighs how close a session is to the message and how recent it is, both from 0 to 1.
func activityScore(c *chooser, e *Candidate, top float64) float64 {
	recency := 1 - float64(c.Now.Sub(e.At))/float64(gather.ActivityWindow)
	if top <= 0 || c.Continues {
		return recency
	}
	return 0.5*e.Score/top + 0.5*recency
}

// sessionScores returns the best score of the summary and the messages of each other session with this coach, and the
// best score of all.
func sessionScores(c *chooser) (scores map[string]float64, top float64) {
	scores = map[string]float64{}
	for _, h := range c.Hits {
		id := ""
		switch {
		case h.Summary != nil:
			id = h.Summary.SessionID
		case h.Message != nil && h.Message.SessionID != c.Session.ID && h.Message.CoachID == c.CoachID:
			id = h.Message.SessionID
		}
		if id != "" {
			scores[id] = max(scores[id], h.Score)
			top = max(top, h.Score)
		}
	}
	return scores, top
}

// describeActivity sets a candidate's text: the session's summary, unless it is superseded, and the messages that the
// summary does not cover.
func describeActivity(c *chooser, e *Candidate, other *conversation.Session) {
	covered, tokens := 0, 0
	var parts []string
	without, summary := "for it had no summary then", reasonSummary
	if gather.HasSummary(other) {
		text, size := c.recentText(other)
		covered, tokens = other.Summary.CoveredThrough, size
		if c.isSuperseded(other) {
			without = reasonSuperseded
		} else {
			rest := c.withoutSafety(text, e.Fresh)
			if rest != text {
				tokens, summary = 0, reasonSummary+" without what "+block.Safety+" has"
			}
			if without = "for " + block.Safety + " has its summary"; rest != "" {
				told := Candidate{SessionID: e.SessionID, At: e.At, Text: rest, Tokens: tokens}
				correctSummary(c, &told)
				parts, tokens, e.MinChars = append(parts, told.Text), told.Tokens, told.MinChars
			}
		}
	}
	quotes, isMarked := quotedSince(c, e, other, covered)
	switch {
	case len(parts) == 0:
		e.Why = "its last messages, " + without
	case len(quotes) == 0:
		e.Why, e.Tokens = summary, tokens
	default:
		e.Why = summary + " and the messages after it"
		parts = append(parts, "Since then:")
	}
	if e.Text = strings.TrimSpace(strings.Join(append(parts, quotes...), " ")); isMarked {
		e.MinChars = utf8.RuneCountInString(e.Text) // no message is told without its mark
	}
}

// quotedSince quotes the last messages of another session that its summary does not cover, with the marks of what ended
// of them.
func quotedSince(c *chooser, e *Candidate, other *conversation.Session, covered int) (quotes []string, isMarked bool) {
	fresh := slices.DeleteFunc(slices.Clone(c.BySession[other.ID]),
		func(m *conversation.Message) bool {
			return m.Seq <= covered || !untrusted.HasVisible(m.Content) ||
				m.Role == conversation.RoleUser && c.repeatsSafety(m.Content, e.Fresh)
		})
	if !slices.ContainsFunc(fresh, func(m *conversation.Message) bool { return !word.IsReceipt(m.Content) }) {
		return nil, false
	}
	for _, m := range fresh[max(len(fresh)-maxUncovered, 0):] {
		speaker := SpeakerName(m.Role)
		if day := calendar.Label(m.Timestamp, c.Now, c.Zone); day != calendar.Label(other.LastMessageAt, c.Now, c.Zone) {
			speaker += " (" + day + ")" // the label names another day
		}
		marks := marksOf(c, c.Ended[m.ID], m.Role, m.Content, m.Timestamp)
		quotes = append(quotes, speaker+": "+inQuotes(untrusted.NameData(m.Content))+marks)
		isMarked = isMarked || marks != ""
	}
	return quotes, isMarked
}

const reasonSummary = "its summary"

// inQuotes writes a message in one line between quotation marks that its text cannot close.
func inQuotes(content string) string {
	return `"` + strings.ReplaceAll(excerpt(content, quoteChars), `"`, "'") + `"`
}

// claimQuoted claims the messages that a candidate quotes whole.
func claimQuoted(c *chooser, e *Candidate, name string) {
	for _, m := range c.BySession[e.SessionID] {
		if utf8.RuneCountInString(m.Content) <= quoteChars && strings.Contains(e.Text, inQuotes(m.Content)) {
			c.claim(messageKey(m.ID), name)
		}
	}
}

// SpeakerName names the speaker of a message.
func SpeakerName(role conversation.Role) string {
	if role == conversation.RoleAssistant {
		return "Assistant"
	}
	return "User"
}
