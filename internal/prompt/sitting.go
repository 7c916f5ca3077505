package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// ThreadGap is the longest pause within a sitting and within a thread (conversation-context-engine, "Thread
// detection").
const ThreadGap = 30 * time.Minute

// HistoryDays is how many days back the tiers reach.
const HistoryDays = 7

// tier says how a prompt tells a part of the history (conversation-context-engine, "Tiered context builder").
type tier int

// The tiers: the active thread and today's other sittings in full, earlier ones by their sessions' summaries. The
// specification has a tier for yesterday and one for the days before it. Both are told alike, newest first.
const (
	tierThread tier = iota + 1
	tierToday
	tierEarlier
	tierNone
)

// isFull reports whether a tier is told in full.
func (t tier) isFull() bool { return t == tierThread || t == tierToday }

// sitting is a run of one session's messages in which no pause is longer than ThreadGap. A chat that goes on for weeks
// is one session of many sittings.
type sitting struct {
	session *conversation.Session
	// messages are those that were read, of every role, oldest first, without the current one.
	messages []*conversation.Message
	// first and last are the times of its first and its last message, the current one included.
	first, last time.Time
	tier        tier
	// inThread is set if it belongs to the active thread.
	inThread bool
	// partial is set if its first messages may not have been read.
	partial bool
}

// splitSittings splits a session's messages, which are oldest first, at the long pauses.
func splitSittings(session *conversation.Session, messages []*conversation.Message) []*sitting {
	var all []*sitting
	from := 0
	for i, m := range messages {
		if i+1 < len(messages) && messages[i+1].Timestamp.Sub(m.Timestamp) <= ThreadGap {
			continue
		}
		all = append(all, &sitting{
			session: session, messages: messages[from : i+1], first: messages[from].Timestamp, last: m.Timestamp,
			tier: tierNone,
		})
		from = i + 1
	}
	return all
}

// history is what was read of one coach's sessions and this one, divided into sittings and tiers.
type history struct {
	now  time.Time
	zone *time.Location
	// sessions are all sessions, this one first, the others latest first.
	sessions []conversation.Session
	// sittings are those of each session, oldest first.
	sittings map[string][]*sitting
	thread   thread
	// reach is the time back to which every message was read. It is zero if all were.
	reach time.Time
	// exhausted are the sessions that have no messages before those that were read.
	exhausted map[string]bool
}

// divide divides messages, those of each session oldest first, without the current one. currentAt is the time of the
// current message.
func (h *history) divide(messages map[string][]*conversation.Message, currentAt time.Time) {
	h.sittings = make(map[string][]*sitting, len(h.sessions))
	for i := range h.sessions {
		s := &h.sessions[i]
		all := splitSittings(s, messages[s.ID])
		if len(all) > 0 && h.isUnread(s, all) {
			all[0].partial = all[0].first.Sub(h.newestUnread(s, all)) <= ThreadGap
		}
		h.sittings[s.ID] = all
	}
	h.addCurrent(currentAt)
	h.walk()
	h.sort()
}

// own is the session of the current message.
func (h *history) own() *conversation.Session { return &h.sessions[0] }

// addCurrent extends the session's last sitting by the current message, or adds a sitting for it.
func (h *history) addCurrent(at time.Time) {
	own := h.own()
	all := h.sittings[own.ID]
	if n := len(all); n > 0 && at.Sub(all[n-1].last) <= ThreadGap {
		all[n-1].last = at
		return
	}
	h.sittings[own.ID] = append(all, &sitting{session: own, first: at, last: at, tier: tierNone})
}

// walk finds the thread: from the current message back, each sitting whose last message is at most ThreadGap before the
// first message of those found so far.
func (h *history) walk() {
	byLast := h.all()
	slices.SortFunc(byLast, func(a, b *sitting) int { return b.last.Compare(a.last) })
	t := thread{edge: h.now}
	conversations := map[string]bool{}
	for _, s := range byLast {
		if n := len(s.messages); n > 0 && t.last.IsZero() {
			t.last = s.messages[n-1].Timestamp
		}
		if t.edge.Sub(s.last) > ThreadGap {
			continue
		}
		s.tier, s.inThread = tierThread, true
		t.active = t.active || len(s.messages) > 0
		t.partial = t.partial || s.partial
		conversations[s.session.ID] = true
		if s.first.Before(t.edge) {
			t.edge = s.first
		}
	}
	t.conversations = len(conversations)
	h.thread = t
}

// all returns the sittings of all sessions.
func (h *history) all() []*sitting {
	var all []*sitting
	for i := range h.sessions {
		all = append(all, h.sittings[h.sessions[i].ID]...)
	}
	return all
}

// sort puts the sittings beside the thread into their tiers: the session's own last one into the first, those of today
// into the second.
func (h *history) sort() {
	for _, s := range h.all() {
		if s.tier == tierNone && h.dayTier(s.last) == tierToday {
			s.tier = tierToday
		}
	}
	own := h.sittings[h.own().ID]
	for _, s := range slices.Backward(own) {
		if len(s.messages) > 0 {
			s.tier = tierThread
			return
		}
	}
}

// dayTier is the tier of a local day.
func (h *history) dayTier(at time.Time) tier {
	switch days := conversation.CalendarDays(at, h.now, h.zone); {
	case at.IsZero() || days > HistoryDays:
		return tierNone
	case days < 1:
		return tierToday
	default:
		return tierEarlier
	}
}

// told returns the sittings of a tier that have messages, the oldest first.
func (h *history) told(t tier) []*sitting {
	told := slices.DeleteFunc(h.all(), func(s *sitting) bool { return s.tier != t || len(s.messages) == 0 })
	slices.SortStableFunc(told, func(a, b *sitting) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.session.ID, b.session.ID))
	})
	return told
}

// tells reports whether a message is told in full.
func (h *history) tells(sessionID, messageID string) bool {
	return slices.ContainsFunc(h.sittings[sessionID], func(s *sitting) bool {
		return s.tier.isFull() &&
			slices.ContainsFunc(s.messages, func(m *conversation.Message) bool { return m.ID == messageID })
	})
}

// untold is what the first two tiers leave out of a session.
type untold struct {
	session *conversation.Session
	// last is the last message of its newest sitting.
	last time.Time
}

// untold returns the sessions that have such a sitting on one of the tiers' days, the latest first.
func (h *history) untold() []untold {
	var all []untold
	for i := range h.sessions {
		s := &h.sessions[i]
		if last := h.lastUntold(s); h.dayTier(last) != tierNone {
			all = append(all, untold{session: s, last: last})
		}
	}
	slices.SortStableFunc(all, func(a, b untold) int { return b.last.Compare(a.last) })
	return all
}

// lastUntold is the last message of a session's newest sitting that is not told in full, zero if there is none. If that
// was not read, it is the session's first message.
func (h *history) lastUntold(s *conversation.Session) time.Time {
	all := h.sittings[s.ID]
	first := slices.IndexFunc(all, func(x *sitting) bool { return x.tier.isFull() })
	switch {
	case first < 0:
		return s.LastMessageAt
	case first > 0:
		return all[first-1].last
	case h.isUnread(s, all):
		return s.StartedAt
	}
	return time.Time{}
}

// isUnread reports whether a session has messages before those that were read.
func (h *history) isUnread(s *conversation.Session, read []*sitting) bool {
	if h.exhausted[s.ID] {
		return false
	}
	seq := s.LastSeq
	if len(read) > 0 && len(read[0].messages) > 0 {
		seq = read[0].messages[0].Seq - 1
		if h.reach.IsZero() {
			return false
		}
	}
	for ; seq > 0; seq-- {
		if !s.Deleted.Contains(seq) {
			return true
		}
	}
	return false
}

// newestUnread is the latest time that a message before those that were read may have.
func (h *history) newestUnread(s *conversation.Session, read []*sitting) time.Time {
	if len(read) == 0 || len(read[0].messages) == 0 {
		return s.LastMessageAt
	}
	if first := read[0].first; first.Before(h.reach) {
		return first
	}
	return h.reach
}

// thread is the chain of sittings that the current message belongs to.
type thread struct {
	// active is set if a message was at most ThreadGap before the current one.
	active bool
	// partial is set if the thread may have begun before the messages that were read.
	partial bool
	// edge is its first message. last is the newest message with this coach before the current one. It is exact only if
	// the thread is not active, when the status names it.
	edge, last time.Time
	// conversations is how many sessions its sittings are of.
	conversations int
}

// status describes the thread in a sentence.
func (h *history) status() string {
	t := h.thread
	age := func(at time.Time) string { return sinceText(at, h.now, h.zone) }
	switch {
	case t.last.IsZero():
		return "This is the start of a new thread."
	case !t.active:
		return "This begins a new thread; the last message with you was " + age(t.last) + "."
	}
	of, began := "", " that began "
	if t.conversations > 1 {
		of = fmt.Sprintf(" of %d conversations", t.conversations)
	}
	if t.partial {
		began = " that began before the messages of "
	}
	return "This continues an active thread" + of + began + age(t.edge) + "."
}
