package prompt_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
)

// The rules of history, in their plainest form: every message and session is in memory, and nothing is shared with the
// code under test. The history tests compare prompts with what these functions say.

// sitting is a run of one session's messages without a pause of more than 30 minutes.
type sitting struct {
	session     conversation.Session
	messages    []conversation.Message
	first, last time.Time
	// current is set if the current message belongs to the sitting.
	current bool
}

// shown are the sitting's messages that a prompt may have as history.
func (s sitting) shown() []conversation.Message {
	return slices.DeleteFunc(slices.Clone(s.messages), func(m conversation.Message) bool {
		return m.Role == conversation.RoleSystem
	})
}

// marks are the marks of what is shown.
func (s sitting) marks() []string {
	var all []string
	for i := range s.messages {
		if m := &s.messages[i]; m.Role != conversation.RoleSystem {
			all = append(all, mark(m))
		}
	}
	return all
}

// summaryOf is a session of which the prompt has the summary, and the sitting that gives it its day.
type summaryOf struct {
	session conversation.Session
	newest  sitting
	days    int
}

// expected is what the rules say about one request.
type expected struct {
	now  time.Time
	zone *time.Location
	// own are the session's messages before the current one that may be in the prompt, oldest first.
	own []conversation.Message
	// sittings are all that the session may see of the coach's.
	sittings []sitting
	// thread are the sittings of the active thread, none if there is no such thread. began is when its first sitting
	// began, conversations how many sessions it has.
	thread        []sitting
	began         time.Time
	conversations int
	// full are tiers 1 and 2 in order; fullThread is how many of them are of tier 1.
	full       []sitting
	fullThread int
	// summaries are tiers 3 and 4 in order, those of sessions without a summary too.
	summaries []summaryOf
	// visible are the sessions with messages that the request may tell of.
	visible []conversation.Session
}

// rulesOf works out what the rules say about a request at a time.
func rulesOf(p *person, r prompt.Request, now time.Time, zone *time.Location) expected {
	h := expected{now: now, zone: zone}
	for _, s := range p.sessions {
		if s.CoachID != r.CoachID || !maySee(p.access.Preferences, r, s) {
			continue
		}
		messages, current := messagesBefore(p, s, r, now)
		own := s.ID == r.SessionID && s.Context == r.Context
		if own {
			h.own = sitting{messages: messages}.shown()
		} else {
			current = time.Time{}
		}
		if len(messages) > 0 {
			h.visible = append(h.visible, s)
		}
		h.sittings = append(h.sittings, sittingsOf(s, messages, current)...)
	}
	h.findThread()
	h.sortIntoTiers(r)
	return h
}

// maySee reports whether the user lets a session see another.
func maySee(p longterm.Preferences, r prompt.Request, s conversation.Session) bool {
	switch {
	case s.ID == r.SessionID && s.Context == r.Context:
		return true
	case !p.CrossContext:
		return false
	case s.Context == r.Context:
		return true
	}
	return !p.Unshared[s.Context] && !p.Unshared[r.Context]
}

// messagesBefore returns a session's messages without the current one, oldest first, and the time that the current one
// has: its stored time, or now.
func messagesBefore(p *person, s conversation.Session, r prompt.Request, now time.Time) ([]conversation.Message,
	time.Time,
) {
	var messages []conversation.Message
	current := now
	for i := range p.messages {
		switch m := &p.messages[i]; {
		case m.SessionID != s.ID:
		case m.ID == r.MessageID:
			current = m.Timestamp
		default:
			messages = append(messages, *m)
		}
	}
	slices.SortFunc(messages, func(a, b conversation.Message) int { return a.Timestamp.Compare(b.Timestamp) })
	return messages, current
}

// sittingsOf splits a session's messages at the pauses of more than 30 minutes. A current time that is not zero is one
// more message, which is not in the prompt.
func sittingsOf(s conversation.Session, messages []conversation.Message, current time.Time) []sitting {
	var all []sitting
	for _, m := range messages {
		if n := len(all); n == 0 || m.Timestamp.Sub(all[n-1].last) > 30*time.Minute {
			all = append(all, sitting{session: s, first: m.Timestamp})
		}
		newest := &all[len(all)-1]
		newest.messages = append(newest.messages, m)
		newest.last = m.Timestamp
	}
	if current.IsZero() {
		return all
	}
	if n := len(all); n == 0 || current.Sub(all[n-1].last) > 30*time.Minute {
		all = append(all, sitting{session: s, first: current})
	}
	all[len(all)-1].last = current
	all[len(all)-1].current = true
	return all
}

// findThread walks back from now through pauses of at most 30 minutes.
func (h *expected) findThread() {
	newestFirst := slices.Clone(h.sittings)
	slices.SortStableFunc(newestFirst, func(a, b sitting) int { return b.last.Compare(a.last) })
	edge := h.now
	sessions, hasMessages := map[string]bool{}, false
	var thread []sitting
	for _, s := range newestFirst {
		if edge.Sub(s.last) > 30*time.Minute {
			break
		}
		thread = append(thread, s)
		sessions[s.session.ID] = true
		hasMessages = hasMessages || len(s.messages) > 0
		if s.first.Before(edge) {
			edge = s.first
		}
	}
	if hasMessages {
		h.thread, h.began, h.conversations = thread, edge, len(sessions)
	}
}

// sortIntoTiers fills full and summaries.
func (h *expected) sortIntoTiers(r prompt.Request) {
	first := slices.Clone(h.thread)
	var stale []sitting // the session's own last sitting of an earlier day comes after today's
	if own := h.ownLast(r); own != nil && !contains(first, *own) {
		if h.daysAgo(own.last) == 0 {
			first = append(first, *own)
		} else {
			stale = []sitting{*own}
		}
	}
	first = slices.DeleteFunc(first, func(s sitting) bool { return len(s.marks()) == 0 })
	slices.SortStableFunc(first, func(a, b sitting) int { return a.first.Compare(b.first) })
	var second []sitting
	for _, s := range h.sittings {
		if h.daysAgo(s.last) == 0 && len(s.marks()) > 0 && !contains(first, s) {
			second = append(second, s)
		}
	}
	slices.SortStableFunc(second, func(a, b sitting) int { return b.last.Compare(a.last) })
	stale = slices.DeleteFunc(stale, func(s sitting) bool { return len(s.marks()) == 0 })
	h.full, h.fullThread = slices.Concat(first, second, stale), len(first)
	for _, s := range h.visible {
		var newest sitting
		for _, other := range h.sittings {
			if other.session.ID == s.ID && len(other.messages) > 0 && !contains(h.full, other) && other.last.After(newest.last) {
				newest = other
			}
		}
		if days := h.daysAgo(newest.last); !newest.last.IsZero() && days >= 1 && days <= 7 {
			h.summaries = append(h.summaries, summaryOf{session: s, newest: newest, days: days})
		}
	}
	slices.SortStableFunc(h.summaries, func(a, b summaryOf) int {
		return cmp.Or(b.newest.last.Compare(a.newest.last), cmp.Compare(a.session.ID, b.session.ID))
	})
}

// ownLast is the last sitting of the request's session that has messages.
func (h *expected) ownLast(r prompt.Request) *sitting {
	var last *sitting
	for i, s := range h.sittings {
		if s.session.ID == r.SessionID && len(s.messages) > 0 && (last == nil || s.last.After(last.last)) {
			last = &h.sittings[i]
		}
	}
	return last
}

func contains(all []sitting, s sitting) bool {
	return slices.ContainsFunc(all, func(other sitting) bool {
		return other.session.ID == s.session.ID && other.first.Equal(s.first)
	})
}

// daysAgo counts the calendar days from a time to now where the user is.
func (h *expected) daysAgo(at time.Time) int {
	day := func(t time.Time) time.Time {
		y, m, d := t.In(h.zone).Date()
		return time.Date(y, m, d, 12, 0, 0, 0, time.UTC)
	}
	return int(day(h.now).Sub(day(at)).Hours()) / 24
}

// lastShown is the last message before the current one that the session may see.
func (h *expected) lastShown() time.Time {
	var last time.Time
	for _, s := range h.sittings {
		for _, m := range s.messages {
			if m.Timestamp.After(last) {
				last = m.Timestamp
			}
		}
	}
	return last
}

// ageOf says how long ago a time of more than 30 days ago was: in whole months, and from twelve of them on in years.
func (h *expected) ageOf(at time.Time) string {
	local, months := at.In(h.zone), 0
	year, month, day := h.now.In(h.zone).Date()
	today := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	for !time.Date(local.Year(), local.Month()+time.Month(months+1), local.Day(), 0, 0, 0, 0, time.UTC).After(today) {
		months++
	}
	switch {
	case months <= 1:
		return "1 month ago"
	case months < 12:
		return fmt.Sprint(months, " months ago")
	case months < 24:
		return "1 year ago"
	}
	return fmt.Sprint(months/12, " years ago")
}
