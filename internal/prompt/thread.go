package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// ThreadGap is the longest pause within a thread (conversation-context-engine, "Thread detection").
const ThreadGap = 30 * time.Minute

// tier says how much of a session a prompt includes (conversation-context-engine, "Tiered context builder").
type tier int

// The tiers: the active thread and today's other sessions in full, yesterday's and older sessions by their summaries.
const (
	tierThread tier = iota + 1
	tierToday
	tierYesterday
	tierOlder
	tierNone
)

// HistoryDays is how many days back the tiers reach.
const HistoryDays = 7

// thread is the chain of sessions that the current message belongs to.
type thread struct {
	sessions map[string]bool
	// start is the first message of its first session, last the newest message before the current one. Both are zero
	// if there is none.
	start, last time.Time
}

// newThread walks back from the current session. A session belongs to the thread if the pause between its last message
// and the first message of the thread so far is at most ThreadGap. If the current session has no message but the
// current one, now is its first message.
func newThread(own conversation.Session, others []conversation.Session, lastBefore, now time.Time) thread {
	t := thread{sessions: map[string]bool{own.ID: true}, last: lastBefore}
	edge := now
	if !lastBefore.IsZero() && !own.StartedAt.IsZero() {
		edge, t.start = own.StartedAt, own.StartedAt
	}
	byLast := slices.Clone(others)
	slices.SortFunc(byLast, func(a, b conversation.Session) int {
		return cmp.Or(b.LastMessageAt.Compare(a.LastMessageAt), cmp.Compare(a.ID, b.ID))
	})
	for _, s := range byLast {
		if s.LastMessageAt.IsZero() || edge.Sub(s.LastMessageAt) > ThreadGap {
			break
		}
		t.sessions[s.ID] = true
		if s.StartedAt.Before(edge) {
			edge = s.StartedAt
			t.start = edge
		}
		if s.LastMessageAt.After(t.last) {
			t.last = s.LastMessageAt
		}
	}
	return t
}

// active reports whether the current message follows within ThreadGap.
func (t thread) active(now time.Time) bool {
	return !t.last.IsZero() && now.Sub(t.last) <= ThreadGap
}

// status describes the thread in a sentence.
func (t thread) status(now time.Time) string {
	switch {
	case t.last.IsZero():
		return "This is the start of a new thread."
	case !t.active(now):
		return fmt.Sprintf("The user comes back to this conversation after %s.", durationText(now.Sub(t.last)))
	case len(t.sessions) == 1:
		return fmt.Sprintf("This continues an active thread that began %s ago.", durationText(now.Sub(t.start)))
	default:
		return fmt.Sprintf("This continues an active thread of %d conversations that began %s ago.",
			len(t.sessions), durationText(now.Sub(t.start)))
	}
}

// tierOf sorts a session by the calendar day of its last message, in the user's time zone.
func (t thread) tierOf(s conversation.Session, now time.Time, zone *time.Location) tier {
	if t.sessions[s.ID] {
		return tierThread
	}
	switch days := conversation.CalendarDays(s.LastMessageAt, now, zone); {
	case s.LastMessageAt.IsZero() || days > HistoryDays:
		return tierNone
	case days <= 0:
		return tierToday
	case days == 1:
		return tierYesterday
	default:
		return tierOlder
	}
}

// dayLabel names a time's day relative to now: today, yesterday, the weekday within a week, N days ago
// (conversation-context-engine, "Calendar-day relative labels").
func dayLabel(at, now time.Time, zone *time.Location) string {
	switch days := conversation.CalendarDays(at, now, zone); {
	case days <= 0:
		return "today"
	case days == 1:
		return "yesterday"
	case days < 7:
		return at.In(zone).Weekday().String()
	default:
		return countText(days, "day") + " ago"
	}
}

// durationText says roughly how long a duration is: less than a minute, N minutes, N hours, N days.
func durationText(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return countText(int(d/time.Minute), "minute")
	case d < 24*time.Hour:
		return countText(int(d/time.Hour), "hour")
	default:
		return countText(int(d/(24*time.Hour)), "day")
	}
}

func countText(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// clockTime writes a local time to the minute. Prompts contain no finer times.
func clockTime(t time.Time, zone *time.Location) string {
	local := t.In(zone)
	return twoDigits(local.Hour()) + ":" + twoDigits(local.Minute())
}

func twoDigits(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// date writes a local date in words.
func date(t time.Time, zone *time.Location) string { return t.In(zone).Format("2 January 2006") }
