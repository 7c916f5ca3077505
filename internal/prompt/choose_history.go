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
func chooseThread(v *view, s *Slot) []*entry {
	var entries []*entry
	for i, g := range v.conversations(tierThread) {
		entries = append(entries, v.transcript(g, -i, s)...)
	}
	for i, g := range v.conversations(tierToday) {
		entries = append(entries, v.transcript(g, i+1, s)...)
	}
	return capItems(entries, s)
}

// conversations are the sessions of a tier that have messages to tell, the latest first.
func (v *view) conversations(t tier) []*group {
	var groups []*group
	for _, s := range v.withOwn() {
		if v.thread.tierOf(s, v.now, v.place) != t || len(v.messagesOf(s.ID)) == 0 {
			continue
		}
		began := v.messagesOf(s.ID)[0].Timestamp
		last := v.messagesOf(s.ID)[len(v.messagesOf(s.ID))-1].Timestamp
		g := &group{
			kind: "conversation", id: s.ID, sessionID: s.ID, context: s.Context, began: began, tier: t,
			label: label(s.Context) + " - " + conversation.Age(last, v.now, v.place), day: dayLabel(last, v.now, v.place),
			date: v.day(began),
		}
		if s.ID == v.session.ID {
			g.label = earlierHere
		}
		groups = append(groups, g)
	}
	return groups
}

// day is a local date in figures.
func (v *view) day(t time.Time) string { return t.In(v.place).Format(time.DateOnly) }

// withOwn are this coach's sessions with the one that the user stands in, latest first.
func (v *view) withOwn() []conversation.Session {
	own := v.session
	own.LastMessageAt = v.lastOwn()
	all := append([]conversation.Session{own}, v.sessions...)
	slices.SortStableFunc(all, func(a, b conversation.Session) int { return b.LastMessageAt.Compare(a.LastMessageAt) })
	return all
}

// messagesOf are the known messages of a session, oldest first.
func (v *view) messagesOf(sessionID string) []*conversation.Message {
	if sessionID == v.session.ID && len(v.own) > len(v.bySession[sessionID]) {
		return v.own
	}
	return v.bySession[sessionID]
}

// earlierHere is the label of what was said in this very session before what is told message by message.
const earlierHere = "Earlier in this conversation"

// transcript are a conversation's messages, newest first, that no block of higher value tells. What recent activity sums
// up of another conversation is told as well where the budget leaves room; the active thread is told in any case.
func (v *view) transcript(g *group, rank int, s *Slot) []*entry {
	messages, covered := v.messagesOf(g.sessionID), v.summedThrough(g.sessionID)
	entries := make([]*entry, 0, len(messages))
	for i, m := range slices.Backward(messages) {
		e := v.once(messageEntry(m), told(m.ID), s.Block)
		e.group = g
		e.place = rank*placesPerConversation + i
		if g.tier == tierToday && m.Seq <= covered {
			e.spare = blockActivity + " tells its summary"
		}
		entries = append(entries, capChars(e, s.Cap))
	}
	return entries
}

// summedThrough is the seq through which recent activity tells a session by its summary, 0 where it does not.
func (v *view) summedThrough(sessionID string) int {
	if v.used[summed(sessionID)] != blockActivity {
		return 0
	}
	i := slices.IndexFunc(v.sessions, func(s conversation.Session) bool { return s.ID == sessionID })
	if i < 0 || !hasSummary(v.sessions[i]) {
		return 0
	}
	return v.sessions[i].Summary.CoveredThrough
}

// tierOf is the tier of a session by its id, tierNone where it is not known.
func (v *view) tierOf(sessionID string) tier {
	if v.thread.sessions[sessionID] {
		return tierThread
	}
	i := slices.IndexFunc(v.sessions, func(s conversation.Session) bool { return s.ID == sessionID })
	if i < 0 {
		return tierNone
	}
	return v.thread.tierOf(v.sessions[i], v.now, v.place)
}

// placesPerConversation keeps the messages of one conversation together.
const placesPerConversation = 1 << 20

// summaryEntry tells a session by its summary.
func (v *view) summaryEntry(s conversation.Session) *entry {
	return &entry{
		kind: "summary", id: s.ID, sessionID: s.ID, context: s.Context, at: s.LastMessageAt,
		text: s.Summary.Text, tokens: s.Summary.Tokens,
		label: label(s.Context) + " - " + conversation.Age(s.LastMessageAt, v.now, v.place),
	}
}

func hasSummary(s conversation.Session) bool {
	return s.Summary != nil && strings.TrimSpace(s.Summary.Text) != ""
}

// chooseSessions tells yesterday's and older sessions by their summaries, newest first: tiers 3 and 4. Conversations of
// today that lie behind the messages which were read come before them: they would be told by nothing else.
func chooseSessions(v *view, s *Slot) []*entry {
	var entries []*entry
	for _, t := range []tier{tierThread, tierToday, tierYesterday, tierOlder} {
		for _, other := range v.sessions {
			if v.thread.tierOf(other, v.now, v.place) != t || t <= tierToday && len(v.bySession[other.ID]) > 0 {
				continue
			}
			e := v.summed(other, s)
			e.place = len(entries)
			if s.Grouped {
				e.group = &group{
					kind: e.kind, id: other.ID, sessionID: other.ID, context: other.Context, label: e.label, tier: t,
					day: dayLabel(other.LastMessageAt, v.now, v.place), began: other.StartedAt, date: v.day(other.LastMessageAt),
				}
			}
			entries = append(entries, e)
		}
	}
	return capItems(entries, s)
}

// summed tells a session by its summary, where it has one that no block of higher value tells.
func (v *view) summed(other conversation.Session, s *Slot) *entry {
	if !hasSummary(other) {
		other.Summary = &conversation.SessionSummary{}
		return v.summaryEntry(other).out("it has no summary yet")
	}
	return capChars(v.once(v.summaryEntry(other), summed(other.ID), s.Block), s.Cap)
}

// chooseLatest tells the summary of this coach's latest session that no other block tells: of this session, where it has
// messages that the prompt leaves out, or else of another one, unless its transcript tells it. In which order summaries
// were written says nothing: history may be imported, and sessions are summarised late.
func chooseLatest(v *view, s *Slot) []*entry {
	if e := v.earlier(s); e != nil {
		return []*entry{e}
	}
	for _, other := range v.sessions { // the latest first
		if _, taken := v.used[summed(other.ID)]; taken || !hasSummary(other) {
			continue
		}
		v.use(summed(other.ID), s.Block)
		e := v.summaryEntry(other)
		e.stands = v.transcribed(other)
		return []*entry{capChars(e, s.Cap)}
	}
	return nil
}

// transcribed is how many messages tell a session whole, 0 where it is not one of those that are told by transcripts or
// where not all of its messages were read.
func (v *view) transcribed(s conversation.Session) int {
	if v.thread.tierOf(s, v.now, v.place) > tierToday || v.read[s.ID] < s.MessageCount {
		return 0
	}
	return len(v.bySession[s.ID])
}

// earlier tells the part of this very session that is not told message by message, by its summary.
func (v *view) earlier(s *Slot) *entry {
	if !hasSummary(v.session) {
		return nil
	}
	chosen, _ := v.scope()
	if len(chosen) == 0 || v.begins(chosen[0]) {
		return nil // nothing is older than what is told
	}
	if v.recipe.has(blockThread) && v.tellsFromStart() {
		return nil
	}
	e := v.summaryEntry(v.session)
	e.at = v.session.Summary.UpdatedAt
	e.label = earlierHere
	return capChars(e, s.Cap)
}

// tellsFromStart reports whether the session's first message is among those that the transcripts tell.
func (v *view) tellsFromStart() bool {
	messages := v.messagesOf(v.session.ID)
	return len(messages) > 0 && v.begins(messages[0])
}

// begins reports whether a message is the first of the session that could be told: system messages may lie before it.
func (v *view) begins(m *conversation.Message) bool {
	return m.Seq <= 1 || v.read[v.session.ID] >= v.session.MessageCount && m.ID == v.messagesOf(v.session.ID)[0].ID
}
