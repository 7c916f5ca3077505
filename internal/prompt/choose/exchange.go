package choose

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/prompt/query"
)

const (
	// minSummaries is how many summaries are included if they have anything to do with the message
	// (maas-context-format, "PREVIOUS CONTEXT": two or three). More of them must reach relevantShare of the best
	// score.
	minSummaries  = 2
	relevantShare = 0.4
	// minSummaryScore is about the score of a message and a summary that have nothing in common.
	minSummaryScore = 0.02
)

// Previous chooses the summary of this session's earlier part, and the summaries most relevant to the message: those
// that the search found or, if it found none, those that share words with it (maas-context-format, "Retrieval": keyword
// search in v0.1).
//
// They are written in order of time, and one that is older than a week begins with its day: what was true then may have
// changed since. The specification's format has no days.
func Previous(c *chooser, slot *Slot) []*Candidate { return previous(c, slot, agedSummary) }

// Tagged is Previous with each summary after its day and the tags that are stored with it (maas-context-format, backlog
// v0.2). A summary without tags gets none.
func Tagged(c *chooser, slot *Slot) []*Candidate { return previous(c, slot, taggedSummary) }

// describe returns a candidate for a session's summary. at is the last message that it is about.
type describe func(c *chooser, s *conversation.Session, at time.Time) *Candidate

func previous(c *chooser, slot *Slot, summary describe) []*Candidate {
	candidates := foundSummaries(c, slot, summary)
	if len(candidates) == 0 {
		candidates = keywordSummaries(c, slot, summary)
	}
	own := ownEarlierPart(c, slot, summary)
	candidates = append(own, candidates...)
	top := 0.0
	for i, e := range candidates {
		e.Position = int(e.At.UnixMilli())
		top = max(top, e.Score)
		irrelevant := e.Score < minSummaryScore || i >= minSummaries && e.Score < top*relevantShare
		if i >= len(own) && e.Left == "" && irrelevant {
			e.leave(reasonIrrelevant)
		}
	}
	return capItems(candidates, slot)
}

func foundSummaries(c *chooser, slot *Slot, summary describe) []*Candidate {
	var candidates []*Candidate
	for _, h := range c.Hits {
		if h.Summary == nil || strings.TrimSpace(h.Summary.Text) == "" {
			continue
		}
		s := gather.SessionOfHit(*h.Summary, c.Zone)
		e := summary(c, &s, s.LastMessageAt)
		e.Score = h.Score
		candidates = append(candidates, c.claimCandidate(e, summaryKey(s.ID), slot.Block))
	}
	return candidates
}

// keywordSummaries ranks the known sessions' summaries by the share of the message's words that they contain. Of equal
// ones the latest is first, as in the list of sessions.
func keywordSummaries(c *chooser, slot *Slot, summary describe) []*Candidate {
	asked := query.Keywords(c.Message)
	var candidates []*Candidate
	for i := range c.Sessions {
		other := &c.Sessions[i]
		if !gather.HasSummary(other) {
			continue
		}
		share := query.Shared(asked, other.Summary.Text)
		if share == 0 {
			continue
		}
		e := summary(c, other, other.LastMessageAt)
		e.Score = share
		candidates = append(candidates, c.claimCandidate(e, summaryKey(other.ID), slot.Block))
	}
	slices.SortStableFunc(candidates, func(a, b *Candidate) int { return cmp.Compare(b.Score, a.Score) })
	return candidates
}

// minTaggedChars is the fewest characters of a summary after its tags.
const minTaggedChars = 24

// datedAfter is how old a summary is that says its day.
const datedAfter = 7 * 24 * time.Hour

// agedSummary is labelled with its day if it is old.
func agedSummary(c *chooser, s *conversation.Session, at time.Time) *Candidate {
	e := c.summaryCandidate(s, at)
	if e.Label = ""; c.Now.Sub(at) > datedAfter {
		e.Label = calendar.Date(at, c.Zone)
	}
	return e
}

// taggedSummary is labelled with its day unless that is today.
func taggedSummary(c *chooser, s *conversation.Session, at time.Time) *Candidate {
	e := c.summaryCandidate(s, at)
	if e.Label = ""; !calendar.IsSameDay(at, c.Now, c.Zone) {
		e.Label = calendar.Date(at, c.Zone)
	}
	if len(s.Summary.Tags) > 0 {
		tags := "[" + strings.Join(s.Summary.Tags, ", ") + "] "
		e.Text, e.Tokens, e.MinChars = tags+e.Text, 0, utf8.RuneCountInString(tags)+minTaggedChars
	}
	return e
}

// Exchanges chooses the session's last exchanges, chronologically. An exchange is a message of the user and its
// answer. The newest exchange is the most valuable, and in it the user's message, so that no answer comes without its
// question. A message is cut only if the block's tokens are used up.
func Exchanges(c *chooser, slot *Slot) []*Candidate {
	var candidates []*Candidate
	for _, exchange := range slices.Backward(lastExchanges(c)) {
		first := exchange[0]
		g := &Group{
			Kind: "exchange", ID: first.ID, SessionID: first.SessionID, Context: first.Context, Began: first.Timestamp,
		}
		for _, m := range exchange {
			e := messageCandidate(m)
			e.Position, e.Group = m.Seq, g
			candidates = append(candidates, capChars(e, slot))
		}
	}
	return capItems(candidates, slot)
}

const (
	// maxExchanges is how many exchanges are included (maas-context-format, "Count": 2-3).
	maxExchanges = 3
	// RecentTokens limits them together (maas-context-format, "RECENT CONVERSATION": max tokens).
	RecentTokens = 200
)

// lastExchanges returns the session's last exchanges, oldest first. A request's scoping limits the messages of which
// they are the last.
func lastExchanges(c *chooser) [][]*conversation.Message {
	messages := c.Own
	if c.ScopedByRequest {
		messages, _ = c.scope()
	}
	var exchanges [][]*conversation.Message
	for _, m := range messages {
		if len(exchanges) == 0 || m.Role == conversation.RoleUser {
			exchanges = append(exchanges, nil)
		}
		last := len(exchanges) - 1
		exchanges[last] = append(exchanges[last], m)
	}
	return exchanges[max(len(exchanges)-maxExchanges, 0):]
}

// ownEarlierPart returns the summary of this session if the recent conversation does not have all of it.
func ownEarlierPart(c *chooser, slot *Slot, summary describe) []*Candidate {
	exchanges := lastExchanges(c)
	if !gather.HasSummary(&c.Session) || len(exchanges) == 0 {
		return nil
	}
	tokens := 0
	for _, m := range slices.Concat(exchanges...) {
		tokens += m.Tokens
	}
	if isFirstMessage(c, exchanges[0][0]) && tokens <= RecentTokens {
		return nil
	}
	e := summary(c, &c.Session, c.Session.Summary.UpdatedAt)
	e.Why = "it covers the earlier part of this conversation"
	return []*Candidate{c.claimCandidate(e, summaryKey(c.Session.ID), slot.Block)}
}
