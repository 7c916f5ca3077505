package prompt

import (
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// chooseThread tells the conversations of the active thread and of today message by message: tiers 1 and 2
// (conversation-context-engine). The thread comes before today's others, a later conversation before an earlier one,
// and in each the newest messages are the last to go. The thread's conversations stand chronologically, today's others
// newest first.
func selectThread(sel *selection, slot *Slot) []*entry {
	var entries []*entry
	for i, g := range transcriptGroups(sel, tierThread) {
		entries = append(entries, transcriptEntries(sel, g, -i, slot)...)
	}
	for i, g := range transcriptGroups(sel, tierToday) {
		entries = append(entries, transcriptEntries(sel, g, i+1, slot)...)
	}
	return capItems(entries, slot)
}

// conversations are the sessions of a tier that have messages to tell, the latest first.
func transcriptGroups(sel *selection, t tier) []*group {
	var groups []*group
	for _, s := range sessionsWithOwn(sel) {
		if sel.thread.tierOf(s, sel.now, sel.zone) != t || len(sel.messagesOf(s.ID)) == 0 {
			continue
		}
		began := sel.messagesOf(s.ID)[0].Timestamp
		last := sel.messagesOf(s.ID)[len(sel.messagesOf(s.ID))-1].Timestamp
		g := &group{
			kind: "conversation", id: s.ID, sessionID: s.ID, context: s.Context, began: began, tier: t,
			label: contextLabel(s.Context) + " - " + conversation.Age(last, sel.now, sel.zone), day: dayLabel(last, sel.now, sel.zone),
			date: isoDate(sel, began),
		}
		if s.ID == sel.session.ID {
			g.label = earlierLabel
		}
		groups = append(groups, g)
	}
	return groups
}

// day is a local date in figures.
func isoDate(sel *selection, t time.Time) string { return t.In(sel.zone).Format(time.DateOnly) }

// withOwn are this coach's sessions with the one that the user stands in, latest first.
func sessionsWithOwn(sel *selection) []conversation.Session {
	own := sel.session
	own.LastMessageAt = sel.lastOwn()
	all := append([]conversation.Session{own}, sel.sessions...)
	slices.SortStableFunc(all, func(a, b conversation.Session) int { return b.LastMessageAt.Compare(a.LastMessageAt) })
	return all
}

// earlierHere is the label of what was said in this very session before what is told message by message.
const earlierLabel = "Earlier in this conversation"

// transcript are a conversation's messages, newest first, that no block of higher value tells. What recent activity sums
// up of another conversation is told as well where the budget leaves room; the active thread is told in any case.
func transcriptEntries(sel *selection, g *group, rank int, slot *Slot) []*entry {
	messages, covered := sel.messagesOf(g.sessionID), activityCoversThrough(sel, g.sessionID)
	entries := make([]*entry, 0, len(messages))
	for i, m := range slices.Backward(messages) {
		e := sel.claimEntry(messageEntry(m), messageKey(m.ID), slot.Block)
		e.group = g
		e.position = rank*positionsPerConversation + i
		if g.tier == tierToday && m.Seq <= covered {
			e.deferred = blockActivity + " tells its summary"
		}
		entries = append(entries, capChars(e, slot.Cap))
	}
	return entries
}

// summedThrough is the seq through which recent activity tells a session by its summary, 0 where it does not.
func activityCoversThrough(sel *selection, sessionID string) int {
	if sel.claims[summaryKey(sessionID)] != blockActivity {
		return 0
	}
	i := slices.IndexFunc(sel.sessions, func(s conversation.Session) bool { return s.ID == sessionID })
	if i < 0 || !hasSummary(sel.sessions[i]) {
		return 0
	}
	return sel.sessions[i].Summary.CoveredThrough
}

// positionsPerConversation keeps the messages of one conversation together.
const positionsPerConversation = 1 << 20

// summaryEntry tells a session by its summary.
func summaryEntry(sel *selection, s conversation.Session) *entry {
	return &entry{
		kind: "summary", id: s.ID, sessionID: s.ID, context: s.Context, at: s.LastMessageAt,
		text: s.Summary.Text, tokens: s.Summary.Tokens,
		label: contextLabel(s.Context) + " - " + conversation.Age(s.LastMessageAt, sel.now, sel.zone),
	}
}

func hasSummary(s conversation.Session) bool {
	return s.Summary != nil && strings.TrimSpace(s.Summary.Text) != ""
}

// chooseSessions tells yesterday's and older sessions by their summaries, newest first: tiers 3 and 4. Conversations of
// today that lie behind the messages which were read come before them: they would be told by nothing else.
func selectSessions(sel *selection, slot *Slot) []*entry {
	var entries []*entry
	for _, t := range []tier{tierThread, tierToday, tierYesterday, tierOlder} {
		for _, other := range sel.sessions {
			if sel.thread.tierOf(other, sel.now, sel.zone) != t || t <= tierToday && len(sel.bySession[other.ID]) > 0 {
				continue
			}
			e := dedupedSummary(sel, other, slot)
			e.position = len(entries)
			if slot.Grouped {
				e.group = &group{
					kind: e.kind, id: other.ID, sessionID: other.ID, context: other.Context, label: e.label, tier: t,
					day: dayLabel(other.LastMessageAt, sel.now, sel.zone), began: other.StartedAt, date: isoDate(sel, other.LastMessageAt),
				}
			}
			entries = append(entries, e)
		}
	}
	return capItems(entries, slot)
}

// summed tells a session by its summary, where it has one that no block of higher value tells.
func dedupedSummary(sel *selection, other conversation.Session, slot *Slot) *entry {
	if !hasSummary(other) {
		other.Summary = &conversation.SessionSummary{}
		return summaryEntry(sel, other).drop("it has no summary yet")
	}
	return capChars(sel.claimEntry(summaryEntry(sel, other), summaryKey(other.ID), slot.Block), slot.Cap)
}

// chooseLatest tells the summary of this coach's latest session that no other block tells: of this session, where it has
// messages that the prompt leaves out, or else of another one, unless its transcript tells it. In which order summaries
// were written says nothing: history may be imported, and sessions are summarised late.
func selectLatest(sel *selection, slot *Slot) []*entry {
	if e := ownSummary(sel, slot); e != nil {
		return []*entry{e}
	}
	for _, other := range sel.sessions { // the latest first
		if _, taken := sel.claims[summaryKey(other.ID)]; taken || !hasSummary(other) {
			continue
		}
		sel.claim(summaryKey(other.ID), slot.Block)
		e := summaryEntry(sel, other)
		e.replaces = transcriptLength(sel, other)
		return []*entry{capChars(e, slot.Cap)}
	}
	return nil
}

// transcribed is how many messages tell a session whole, 0 where it is not one of those that are told by transcripts or
// where not all of its messages were read.
func transcriptLength(sel *selection, s conversation.Session) int {
	if sel.thread.tierOf(s, sel.now, sel.zone) > tierToday || sel.readCounts[s.ID] < s.MessageCount {
		return 0
	}
	return len(sel.bySession[s.ID])
}

// earlier tells the part of this very session that is not told message by message, by its summary.
func ownSummary(sel *selection, slot *Slot) *entry {
	if !hasSummary(sel.session) {
		return nil
	}
	chosen, _ := sel.scope()
	if len(chosen) == 0 || isFirstMessage(sel, chosen[0]) {
		return nil // nothing is older than what is told
	}
	if sel.recipe.has(blockThread) && transcriptFromStart(sel) {
		return nil
	}
	e := summaryEntry(sel, sel.session)
	e.at = sel.session.Summary.UpdatedAt
	e.label = earlierLabel
	return capChars(e, slot.Cap)
}

// tellsFromStart reports whether the session's first message is among those that the transcripts tell.
func transcriptFromStart(sel *selection) bool {
	messages := sel.messagesOf(sel.session.ID)
	return len(messages) > 0 && isFirstMessage(sel, messages[0])
}

// begins reports whether a message is the first of the session that could be told: system messages may lie before it.
func isFirstMessage(sel *selection, m *conversation.Message) bool {
	return m.Seq <= 1 || sel.readCounts[sel.session.ID] >= sel.session.MessageCount && m.ID == sel.messagesOf(sel.session.ID)[0].ID
}
