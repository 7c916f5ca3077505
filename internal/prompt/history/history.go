// Package history divides what was read of one coach's conversations into sittings and into the tiers by which a prompt
// has them: the active thread, today, and the days before (conversation-context-engine).
package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// ThreadGap is the longest pause within a sitting and within a thread (conversation-context-engine, "Thread
// detection").
const ThreadGap = 30 * time.Minute

// Days is how many days back the tiers reach.
const Days = 7

// Tier says how a prompt has a part of the history (conversation-context-engine, "Tiered context builder").
type Tier int

// The tiers: the active thread and today's other sittings in full, earlier ones by their sessions' summaries. The
// specification has a tier for yesterday and one for the days before it. Both are written alike, newest first.
// StaleTier is this session's own last sitting of an earlier day, in full as far as today's leave room for it.
const (
	ThreadTier Tier = iota + 1
	TodayTier
	StaleTier
	EarlierTier
	NoTier
)

// IsFull reports whether the messages of a tier are written in full.
func (t Tier) IsFull() bool { return t == ThreadTier || t == TodayTier || t == StaleTier }

// Sitting is a run of one session's messages in which no pause is longer than ThreadGap. A chat that goes on for weeks
// is one session of many sittings.
type Sitting struct {
	Session *conversation.Session
	// Messages are those that were read, of every role, oldest first, without the current one.
	Messages []*conversation.Message
	// First and Last are the times of its first and its last message, the current one included.
	First, Last time.Time
	Tier        Tier
	// InThread is set if it belongs to the active thread.
	InThread bool
	// Partial is set if its first messages may not have been read.
	Partial bool
}

// splitSittings splits a session's messages, which are oldest first, at the long pauses.
func splitSittings(session *conversation.Session, messages []*conversation.Message) []*Sitting {
	var all []*Sitting
	from := 0
	for i, m := range messages {
		if i+1 < len(messages) && messages[i+1].Timestamp.Sub(m.Timestamp) <= ThreadGap {
			continue
		}
		all = append(all, &Sitting{
			Session: session, Messages: messages[from : i+1], First: messages[from].Timestamp, Last: m.Timestamp,
			Tier: NoTier,
		})
		from = i + 1
	}
	return all
}

// History is what was read of one coach's sessions and this one, divided into sittings and tiers.
type History struct {
	now  time.Time
	zone *time.Location
	// Sessions are all sessions, this one first, the others latest first.
	Sessions []conversation.Session
	// bySession has the sittings of each session, oldest first.
	bySession map[string][]*Sitting
	thread    thread
	reach     Reach
}

// Reach is how far back the messages of a history were read.
type Reach struct {
	// Since is the time since which every message was read. It is zero if all were.
	Since time.Time
	// Exhausted are the sessions that have no messages before those that were read.
	Exhausted map[string]bool
}

// Divide divides what was read of sessions, the first of which is that of the current message. messages are those of
// each session, oldest first, without the current one, which was sent at currentAt.
func Divide(sessions []conversation.Session, messages map[string][]*conversation.Message, reach Reach,
	currentAt, now time.Time, zone *time.Location,
) *History {
	h := &History{
		Sessions: sessions, now: now, zone: zone, reach: reach, bySession: make(map[string][]*Sitting, len(sessions)),
	}
	for i := range h.Sessions {
		s := &h.Sessions[i]
		all := splitSittings(s, messages[s.ID])
		if len(all) > 0 && h.isUnread(s, all) {
			all[0].Partial = all[0].First.Sub(h.newestUnread(s, all)) <= ThreadGap
		}
		h.bySession[s.ID] = all
	}
	h.addCurrent(currentAt)
	h.walk()
	h.sort()
	return h
}

// Own is the session of the current message.
func (h *History) Own() *conversation.Session { return &h.Sessions[0] }

// addCurrent extends the session's last sitting by the current message, or adds a sitting for it.
func (h *History) addCurrent(at time.Time) {
	own := h.Own()
	all := h.bySession[own.ID]
	if n := len(all); n > 0 && at.Sub(all[n-1].Last) <= ThreadGap {
		all[n-1].Last = at
		return
	}
	h.bySession[own.ID] = append(all, &Sitting{Session: own, First: at, Last: at, Tier: NoTier})
}

// Sittings returns the sittings of all sessions.
func (h *History) Sittings() []*Sitting {
	var all []*Sitting
	for i := range h.Sessions {
		all = append(all, h.bySession[h.Sessions[i].ID]...)
	}
	return all
}

// sort puts the sittings beside the thread into their tiers: those of today into the second, and the session's own last
// one into the first if it is of today, too.
func (h *History) sort() {
	for _, s := range h.Sittings() {
		if s.Tier == NoTier && h.DayTier(s.Last) == TodayTier {
			s.Tier = TodayTier
		}
	}
	own := h.bySession[h.Own().ID]
	for _, s := range slices.Backward(own) {
		if len(s.Messages) > 0 {
			if s.Tier = ThreadTier; h.DayTier(s.Last) != TodayTier && !s.InThread {
				s.Tier = StaleTier
			}
			return
		}
	}
}

// DayTier is the tier of a local day.
func (h *History) DayTier(at time.Time) Tier {
	switch days := conversation.CalendarDays(at, h.now, h.zone); {
	case at.IsZero() || days > Days:
		return NoTier
	case days < 1:
		return TodayTier
	default:
		return EarlierTier
	}
}

// SittingsIn returns the sittings of a tier that have messages, the oldest first.
func (h *History) SittingsIn(t Tier) []*Sitting {
	in := slices.DeleteFunc(h.Sittings(), func(s *Sitting) bool { return s.Tier != t || len(s.Messages) == 0 })
	slices.SortStableFunc(in, func(a, b *Sitting) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Session.ID, b.Session.ID))
	})
	return in
}

// HasInFull reports whether a prompt may have a message in full.
func (h *History) HasInFull(sessionID, messageID string) bool {
	return slices.ContainsFunc(h.bySession[sessionID], func(s *Sitting) bool {
		return s.Tier.IsFull() &&
			slices.ContainsFunc(s.Messages, func(m *conversation.Message) bool { return m.ID == messageID })
	})
}

// Remainder is what the first two tiers leave out of a session, or of one day of a session that is kept open.
type Remainder struct {
	Session *conversation.Session
	// Last is the last message of its newest sitting.
	Last time.Time
	// Day is what the day came to, nil where the session's summary covers it all.
	Day *conversation.DaySummary
}

// Remainders returns the sessions and days that have such a sitting on one of the tiers' days, the latest first.
func (h *History) Remainders() []Remainder {
	var all []Remainder
	for i := range h.Sessions {
		s := &h.Sessions[i]
		if HasDays(s, h.zone) {
			all = append(all, h.remainingDays(s)...)
		} else if last := h.LastRemaining(s); h.DayTier(last) != NoTier {
			all = append(all, Remainder{Session: s, Last: last})
		}
	}
	slices.SortStableFunc(all, func(a, b Remainder) int { return b.Last.Compare(a.Last) })
	return all
}

// LastRemaining is the last message of a session's newest sitting that is not in the first two tiers, zero if there is
// none. If that was not read, it is the session's first message.
func (h *History) LastRemaining(s *conversation.Session) time.Time {
	all := h.bySession[s.ID]
	first := slices.IndexFunc(all, func(x *Sitting) bool { return x.Tier.IsFull() })
	switch {
	case first < 0:
		return s.LastMessageAt
	case first > 0:
		return all[first-1].Last
	case h.isUnread(s, all):
		return s.StartedAt
	}
	return time.Time{}
}

// SittingsOf returns the sittings of a session, oldest first.
func (h *History) SittingsOf(sessionID string) []*Sitting { return h.bySession[sessionID] }

// SittingBegan is when the sitting of the current message began: with its first message or, without others, now.
func (h *History) SittingBegan() time.Time {
	own := h.bySession[h.Own().ID]
	if last := own[len(own)-1]; len(last.Messages) > 0 { // the last one has the current message
		return last.First
	}
	return h.now
}
