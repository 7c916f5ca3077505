package prompt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// selectThread selects what tiers 1 and 2 tell in full: the messages of the active thread and of this session's last
// sitting, and those of today's other sittings (conversation-context-engine). In value, the first tier comes before the
// second, a later sitting of today before an earlier one, and a newer message before an older one. The first tier is
// written chronologically, today's other sittings newest first. A steady prompt has all in the order of time.
func selectThread(sel *selection, slot *Slot) []*entry {
	var entries []*entry
	thread := sel.history.told(tierThread)
	for i, s := range thread {
		entries = append(entries, transcriptEntries(sel, s, i-len(thread), slot)...)
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return b.at.Compare(a.at) })
	today := sel.history.told(tierToday)
	slices.SortStableFunc(today, func(a, b *sitting) int { return b.last.Compare(a.last) })
	for i, s := range today {
		place := i
		if sel.recipe.Steady { // the oldest first, and all in front of the thread
			place = -len(thread) - 1 - i
		}
		entries = append(entries, transcriptEntries(sel, s, place, slot)...)
	}
	return capItems(entries, slot)
}

// transcriptGroup is the frame of a sitting's messages of one local day.
func transcriptGroup(sel *selection, s *sitting, messages []*conversation.Message) *group {
	first, last := messages[0].Timestamp, messages[len(messages)-1].Timestamp
	g := &group{
		kind: "conversation", id: s.session.ID, sessionID: s.session.ID, context: s.session.Context, began: first,
		day: dayLabel(last, sel.now, sel.zone), date: isoDate(last, sel.zone),
		from: clockTime(first, sel.zone), to: clockTime(last, sel.zone),
	}
	day := " - " + dayText(last, sel.now, sel.zone) + ", "
	g.label = contextLabel(g.context) + day + clockSpan(first, last, sel.zone)
	if g.sessionID == sel.session.ID { // it goes on with each turn
		g.label = earlierLabel + day + "from " + clockTime(first, sel.zone)
	}
	if s.partial && messages[0] == s.messages[0] {
		g.unread = cmp.Or(sel.unread[g.sessionID], "the budget was full")
	}
	return g
}

// earlierLabel is the label of the part of this session that comes before recent_messages.
const earlierLabel = "Earlier in this conversation"

// transcriptEntries returns a sitting's messages, newest first, without those that a more valuable block has. If
// recent_activity has the summary of one of today's other conversations, its messages are deferred. What was said
// before midnight is told apart from what was said after it.
func transcriptEntries(sel *selection, s *sitting, rank int, slot *Slot) []*entry {
	covered := activityCoversThrough(sel, s.session.ID)
	told := slices.DeleteFunc(slices.Clone(s.messages), func(m *conversation.Message) bool {
		return !isConversational(m.Role)
	})
	entries := make([]*entry, 0, len(told))
	for to := len(told); to > 0; {
		from := to - 1
		late := transcriptIsLate(sel, s.session.ID, told[from].Timestamp)
		for from > 0 && isSameDay(told[from-1].Timestamp, told[to-1].Timestamp, sel.zone) &&
			late == transcriptIsLate(sel, s.session.ID, told[from-1].Timestamp) {
			from--
		}
		g := transcriptGroup(sel, s, told[from:to])
		for i := to - 1; i >= from; i-- {
			m := told[i]
			e := sel.claimEntry(messageEntry(m), messageKey(m.ID), slot.Block)
			e.group, e.late = g, late
			e.position = rank*positionsPerConversation + i
			if s.tier == tierToday && m.Seq <= covered {
				e.deferred = blockActivity + " tells its summary"
			}
			entries = append(entries, capChars(e, slot.Cap))
		}
		to = from
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

// summaryEntry returns an entry for a session's summary. at is the last message that it tells of.
func summaryEntry(sel *selection, s conversation.Session, at time.Time) *entry {
	return &entry{
		kind: "summary", id: s.ID, sessionID: s.ID, context: s.Context, at: at,
		text: s.Summary.Text, tokens: s.Summary.Tokens, tags: s.Summary.Tags,
		label: contextLabel(s.Context) + " - " + ageInFront(sel, at), late: sel.isNew(s.Summary.UpdatedAt),
	}
}

func hasSummary(s conversation.Session) bool {
	return s.Summary != nil && strings.TrimSpace(s.Summary.Text) != ""
}

// selectSessions selects the summaries of the sessions that have a sitting which is not told in full, newest first: of
// yesterday, and of the days before it. Sessions of today that were not read are among them, because no other block has
// them. This session's summary is left to session_summary, if there is one.
func selectSessions(sel *selection, slot *Slot) []*entry {
	var entries []*entry
	for _, u := range sel.history.untold() {
		if u.session.ID == sel.session.ID && sel.recipe.has(blockLatest) {
			continue
		}
		e := dedupedSummary(sel, u, slot)
		e.position = len(entries)
		if slot.Grouped {
			e.group = &group{
				kind: e.kind, id: e.id, sessionID: e.sessionID, context: e.context, label: e.label, began: u.session.StartedAt,
				day: dayLabel(u.last, sel.now, sel.zone), date: isoDate(u.last, sel.zone), to: clockTime(u.last, sel.zone),
			}
		}
		entries = append(entries, e)
	}
	return capItems(entries, slot)
}

// dedupedSummary returns a session's summary, dropped if a more valuable block has it or if there is none.
func dedupedSummary(sel *selection, u untold, slot *Slot) *entry {
	other := *u.session
	if !hasSummary(other) {
		other.Summary = &conversation.SessionSummary{}
		return summaryEntry(sel, other, u.last).drop("it has no summary yet")
	}
	return capChars(sel.claimEntry(summaryEntry(sel, other, u.last), summaryKey(other.ID), slot.Block), slot.Cap)
}

// selectLatest selects the latest summary that no other block has: that of this session, if the prompt leaves out some
// of its messages, or else that of this coach's latest other session, unless a transcript has it whole. This session
// comes first because the current message makes it the latest one. The order in which summaries were written does not
// matter: history may be imported, and sessions may be summarized late. While the one that was the latest when the
// sitting began stands in front, those that came up since stand late.
func selectLatest(sel *selection, slot *Slot) []*entry {
	if e := ownSummary(sel, slot); e != nil {
		return []*entry{e}
	}
	var entries []*entry
	for _, other := range sel.sessions { // the latest first
		if _, taken := sel.claims[summaryKey(other.ID)]; taken || !hasSummary(other) {
			continue
		}
		sel.claim(summaryKey(other.ID), slot.Block)
		e := summaryEntry(sel, other, other.LastMessageAt)
		e.replaces = transcriptLength(sel, other)
		if entries = append(entries, capChars(e, slot.Cap)); !e.late {
			break
		}
	}
	return entries
}

// transcriptLength is how many messages a session's transcript has. It is 0 if transcripts do not tell all of the
// session.
func transcriptLength(sel *selection, s conversation.Session) int {
	if !sel.recipe.has(blockThread) || !sel.history.lastUntold(&s).IsZero() {
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
	if sel.recipe.has(blockThread) && sel.history.lastUntold(sel.history.own()).IsZero() {
		return nil // the transcripts tell it from its start
	}
	e := summaryEntry(sel, sel.session, sel.session.Summary.UpdatedAt)
	e.label = earlierLabel
	return capChars(e, slot.Cap)
}

// isFirstMessage reports whether a message is the session's first one, system messages not counted.
func isFirstMessage(sel *selection, m *conversation.Message) bool {
	return m.Seq <= 1 || sel.readCounts[sel.session.ID] >= sel.session.MessageCount &&
		m.ID == sel.bySession[sel.session.ID][0].ID
}
