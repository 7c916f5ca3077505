package prompt

import (
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// selectThread selects the messages of the active thread and of today's other conversations: tiers 1 and 2
// (conversation-context-engine). In value, the thread comes before today's others, a later conversation before an
// earlier one, and a newer message before an older one. The thread's conversations are written chronologically,
// today's others newest first.
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

// transcriptGroups returns the sessions of a tier that have messages, latest first.
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
			label: contextLabel(s.Context) + " - " +
				conversation.Age(last, sel.now, sel.zone), day: dayLabel(last, sel.now, sel.zone),
			date: isoDate(sel, began),
		}
		if s.ID == sel.session.ID {
			g.label = earlierLabel
		}
		groups = append(groups, g)
	}
	return groups
}

// isoDate is a local date in figures.
func isoDate(sel *selection, t time.Time) string { return t.In(sel.zone).Format(time.DateOnly) }

// sessionsWithOwn returns this coach's sessions and the current one, latest first.
func sessionsWithOwn(sel *selection) []conversation.Session {
	own := sel.session
	own.LastMessageAt = sel.lastOwn()
	all := append([]conversation.Session{own}, sel.sessions...)
	slices.SortStableFunc(all, func(a, b conversation.Session) int { return b.LastMessageAt.Compare(a.LastMessageAt) })
	return all
}

// earlierLabel is the label of the part of this session that comes before recent_messages.
const earlierLabel = "Earlier in this conversation"

// transcriptEntries returns a conversation's messages, newest first, without those that a more valuable block has. If
// recent_activity has the summary of one of today's other conversations, its messages are deferred.
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

// activityCoversThrough is the seq through which the summary in recent_activity covers a session, or 0 if it is not
// there.
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

// summaryEntry returns an entry for a session's summary.
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

// selectSessions selects the summaries of yesterday's and older sessions, newest first: tiers 3 and 4. Conversations
// of today whose messages were not read come before them, because no other block has them.
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
					day: dayLabel(other.LastMessageAt, sel.now, sel.zone), began: other.StartedAt, date: isoDate(sel,
						other.LastMessageAt),
				}
			}
			entries = append(entries, e)
		}
	}
	return capItems(entries, slot)
}

// dedupedSummary returns a session's summary, dropped if a more valuable block has it or if there is none.
func dedupedSummary(sel *selection, other conversation.Session, slot *Slot) *entry {
	if !hasSummary(other) {
		other.Summary = &conversation.SessionSummary{}
		return summaryEntry(sel, other).drop("it has no summary yet")
	}
	return capChars(sel.claimEntry(summaryEntry(sel, other), summaryKey(other.ID), slot.Block), slot.Cap)
}

// selectLatest selects the latest summary that no other block has: that of this session, if the prompt leaves out some
// of its messages, or else that of this coach's latest other session, unless a transcript has it whole. The order in
// which summaries were written does not matter: history may be imported, and sessions may be summarized late.
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

// transcriptLength is how many messages a session's transcript has. It is 0 if transcripts do not include the session,
// or if not all of its messages were read.
func transcriptLength(sel *selection, s conversation.Session) int {
	if sel.thread.tierOf(s, sel.now, sel.zone) > tierToday || sel.readCounts[s.ID] < s.MessageCount {
		return 0
	}
	return len(sel.bySession[s.ID])
}

// ownSummary returns the summary of this session if the prompt leaves out some of its messages.
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

// transcriptFromStart reports whether the transcripts include the session's first message.
func transcriptFromStart(sel *selection) bool {
	messages := sel.messagesOf(sel.session.ID)
	return len(messages) > 0 && isFirstMessage(sel, messages[0])
}

// isFirstMessage reports whether a message is the session's first one, system messages not counted.
func isFirstMessage(sel *selection, m *conversation.Message) bool {
	return m.Seq <= 1 || sel.readCounts[sel.session.ID] >= sel.session.MessageCount &&
		m.ID == sel.messagesOf(sel.session.ID)[0].ID
}
