package choose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/prompt/history"
)

// chooseThread chooses what tiers 1 and 2 have in full: the messages of the active thread and of this session's last
// sitting, and those of today's other sittings (conversation-context-engine). A last sitting of an earlier day comes
// after today's. In value, the first tier comes before the second, a later sitting of today before an earlier one,
// and a newer message before an older one. The first tier is written chronologically, today's other sittings newest
// first. A prompt with a stable prefix has all in the order of time.
func chooseThread(c *chooser, slot *Slot) []*Candidate {
	var candidates []*Candidate
	thread := c.History.SittingsIn(history.ThreadTier)
	for i, s := range thread {
		candidates = append(candidates, transcript(c, s, i-len(thread), slot)...)
	}
	slices.SortStableFunc(candidates, func(a, b *Candidate) int { return b.At.Compare(a.At) })
	today := c.History.SittingsIn(history.TodayTier)
	slices.SortStableFunc(today, func(a, b *history.Sitting) int { return b.Last.Compare(a.Last) })
	for i, s := range append(today, c.History.SittingsIn(history.StaleTier)...) {
		place := i
		if c.StablePrefix { // the oldest first, and all in front of the thread
			place = -len(thread) - 1 - i
		}
		candidates = append(candidates, transcript(c, s, place, slot)...)
	}
	if slot.FillRest {
		deferOthers(c, candidates)
	}
	return capItems(candidates, slot)
}

// othersCount is how many messages of other conversations a transcript has before what was found for the message.
const othersCount = 12

// deferOthers leaves the older messages of other conversations to what the budget leaves: those that matter now are
// found. In a session that continues they would be packed before what was found, in the stable prefix, so a prompt
// whose message asks for something from elsewhere does without them.
func deferOthers(c *chooser, candidates []*Candidate) {
	n := 0
	for _, e := range candidates {
		if e.SessionID == c.Session.ID || e.Left != "" || e.Deferred != "" {
			continue
		}
		if n++; n <= othersCount {
			continue
		}
		if e.Deferred = fmt.Sprintf("before the last %d messages of other conversations", othersCount); c.Asks {
			e.leave(e.Deferred)
		}
	}
}

// transcriptGroup is the frame of a sitting's messages of one local day.
func transcriptGroup(c *chooser, s *history.Sitting, messages []*conversation.Message) *Group {
	first, last := messages[0].Timestamp, messages[len(messages)-1].Timestamp
	g := &Group{
		Kind: "conversation", ID: s.Session.ID, SessionID: s.Session.ID, Context: s.Session.Context, Began: first,
		Day: calendar.Label(last, c.Now, c.Zone), Date: calendar.ISO(last, c.Zone),
		From: calendar.Clock(first, c.Zone), To: calendar.Clock(last, c.Zone),
	}
	day := " - " + calendar.Day(last, c.Now, c.Zone) + ", "
	g.Label = ContextLabel(g.Context) + day + calendar.Span(first, last, c.Zone)
	if g.SessionID == c.Session.ID { // it goes on with each turn
		g.Label = earlierLabel + day + "from " + calendar.Clock(first, c.Zone)
	}
	if s.Partial && messages[0] == s.Messages[0] {
		g.Unread = cmp.Or(c.Unread[g.SessionID], "the budget was full")
	}
	return g
}

// earlierLabel is the label of the part of this session that comes before recent_messages.
const earlierLabel = "Earlier in this conversation"

// transcript returns a sitting's messages, newest first, without those that a more valuable block has. If
// recent_activity has the summary of one of today's other conversations, its messages are deferred. What was said
// before midnight is in a group of its own.
func transcript(c *chooser, s *history.Sitting, rank int, slot *Slot) []*Candidate {
	covered := activityCoversThrough(c, s.Session.ID)
	spoken := slices.DeleteFunc(slices.Clone(s.Messages), func(m *conversation.Message) bool {
		return !gather.IsConversational(m.Role) || !c.MayHear(m)
	})
	candidates := make([]*Candidate, 0, len(spoken))
	for to := len(spoken); to > 0; {
		from := to - 1
		fresh := c.isFreshMessage(s.Session.ID, spoken[from].Timestamp)
		for from > 0 && calendar.IsSameDay(spoken[from-1].Timestamp, spoken[to-1].Timestamp, c.Zone) &&
			fresh == c.isFreshMessage(s.Session.ID, spoken[from-1].Timestamp) {
			from--
		}
		g := transcriptGroup(c, s, spoken[from:to])
		for i := to - 1; i >= from; i-- {
			m := spoken[i]
			e := c.claimCandidate(messageCandidate(m), messageKey(m.ID), slot.Block)
			e.Group, e.Fresh = g, fresh
			c.leaveRepeatsOfSafety(e)
			e.Position = rank*positionsPerConversation + i
			if s.Tier == history.TodayTier && m.Seq <= covered {
				e.Deferred = block.Activity + " has its summary"
			}
			candidates = append(candidates, capChars(e, slot))
		}
		run := candidates[len(candidates)-(to-from):]
		leaveAnswers(run)
		leaveReceipts(run)
		for _, e := range run {
			correct(c, e)
		}
		to = from
	}
	return candidates
}

// activityCoversThrough is the seq through which the summary in recent_activity covers a session, or 0 if it is not
// there.
func activityCoversThrough(c *chooser, sessionID string) int {
	if c.claims[summaryKey(sessionID)] != block.Activity {
		return 0
	}
	s := c.otherSession(sessionID)
	if s == nil || !gather.HasSummary(s) || c.isSuperseded(s) {
		return 0
	}
	return s.Summary.CoveredThrough
}

// otherSession returns one of the coach's other sessions, or nil if it was not read.
func (c *chooser) otherSession(id string) *conversation.Session {
	i := slices.IndexFunc(c.Sessions, func(s conversation.Session) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return &c.Sessions[i]
}

// positionsPerConversation keeps the messages of one conversation together.
const positionsPerConversation = 1 << 20

// chooseSessionSummaries chooses the summaries of the sessions that have a sitting which is not in the first two tiers,
// newest first: of yesterday, and of the days before it. Sessions of today that were not read are among them, because
// no other block has them. A session of several days has a summary of each. This session's summary of all of them is
// left to session_summary, if there is one.
func chooseSessionSummaries(c *chooser, slot *Slot) []*Candidate {
	var candidates []*Candidate
	for _, u := range c.History.Remainders() {
		if u.Day == nil && u.Session.ID == c.Session.ID && c.has(block.SessionSummary) {
			continue
		}
		e := dedupedSummary(c, u, slot)
		e.Position = len(candidates)
		if slot.Grouped {
			e.Group = summaryGroup(c, e, u)
		}
		candidates = append(candidates, e)
	}
	return capItems(candidates, slot)
}

// dedupedSummary returns a session's summary, left out if a more valuable block has it or if there is none.
func dedupedSummary(c *chooser, u history.Remainder, slot *Slot) *Candidate {
	if u.Day != nil {
		return dedupedDay(c, u, slot)
	}
	if !gather.HasSummary(u.Session) {
		other := *u.Session
		other.Summary = &conversation.SessionSummary{}
		return c.summaryCandidate(&other, u.Last).leave("it had no summary then")
	}
	e := c.summaryCandidate(u.Session, u.Last)
	return capChars(c.claimCandidate(e, summaryKey(u.Session.ID), slot.Block), slot)
}

// chooseSessionSummary chooses the latest summary that no other block has: that of this session, if the prompt leaves
// out some of its messages, or else that of this coach's latest other session, unless a transcript has it whole. This
// session comes first because the current message makes it the latest one. The order in which summaries were written
// does not matter: history may be imported, and sessions may be summarized late. Beside the one that was the latest
// when the sitting began are those that came up since.
func chooseSessionSummary(c *chooser, slot *Slot) []*Candidate {
	if own := ownSummary(c, slot); own != nil {
		return own
	}
	return latestOther(c, slot)
}

// LatestSummary chooses the summary of this coach's latest other session, or that of this one if no other has any
// (prompt-assembly-map, "Latest Session Summary").
func LatestSummary(c *chooser, slot *Slot) []*Candidate {
	if others := latestOther(c, slot); len(others) > 0 {
		return others
	}
	return ownSummary(c, slot)
}

// latestOther chooses the summary of this coach's latest other session that no other block has.
func latestOther(c *chooser, slot *Slot) []*Candidate {
	var candidates []*Candidate
	for i := range c.Sessions { // the latest first
		other := &c.Sessions[i]
		if _, taken := c.claims[summaryKey(other.ID)]; taken || !gather.HasSummary(other) {
			continue
		}
		e := c.claimCandidate(c.summaryCandidate(other, other.LastMessageAt), summaryKey(other.ID), slot.Block)
		if e.Left != "" {
			candidates = append(candidates, e)
			continue
		}
		e.Replaces = transcriptLength(c, other)
		if candidates = append(candidates, capChars(e, slot)); !e.Fresh {
			break
		}
	}
	return candidates
}

// transcriptLength is how many messages a session's transcript has. It is 0 if transcripts do not have the whole
// session.
func transcriptLength(c *chooser, s *conversation.Session) int {
	if !c.has(block.Thread) || !c.History.LastRemaining(s).IsZero() {
		return 0
	}
	return len(c.BySession[s.ID])
}

// ownSummary returns the summary of this session if the prompt leaves out some of its messages.
func ownSummary(c *chooser, slot *Slot) []*Candidate {
	if !gather.HasSummary(&c.Session) {
		return nil
	}
	chosen, _ := c.scope()
	if len(chosen) == 0 || isFirstMessage(c, chosen[0]) {
		return nil // nothing is older than these
	}
	if c.has(block.Thread) && c.History.LastRemaining(c.History.Own()).IsZero() {
		return nil // the transcripts have it from its start
	}
	e := c.summaryCandidate(&c.Session, c.Session.Summary.UpdatedAt)
	e.Label = earlierLabel
	return []*Candidate{capChars(e, slot)}
}

// isFirstMessage reports whether a message is the session's first one, system messages not counted.
func isFirstMessage(c *chooser, m *conversation.Message) bool {
	return m.Seq <= 1 || c.ReadCounts[c.Session.ID] >= c.Session.MessageCount &&
		m.ID == c.BySession[c.Session.ID][0].ID
}
