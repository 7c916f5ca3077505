package prompt

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// dayLabel names a time's day relative to now: today, yesterday, the weekday within a week, N days ago, and past a
// month N months or years ago (conversation-context-engine, "Calendar-day relative labels").
func dayLabel(at, now time.Time, zone *time.Location) string {
	switch days := conversation.CalendarDays(at, now, zone); {
	case days < 0:
		return "tomorrow"
	case days == 0:
		return "today"
	case days > 1 && days < 7:
		return at.In(zone).Weekday().String()
	}
	label, _, _ := strings.Cut(conversation.Age(at, now, zone), " (")
	return label
}

// dayText names a day by its date, with the day relative to now: today, or 4 November (9 days ago). The year is given
// if it is not this year.
func dayText(at, now time.Time, zone *time.Location) string {
	label := dayLabel(at, now, zone)
	if label == "today" {
		return label
	}
	local := at.In(zone)
	layout := "2 January"
	if local.Year() != now.In(zone).Year() {
		layout = "2 January 2006"
	}
	return local.Format(layout) + " (" + label + ")"
}

// sinceText says how long ago something was: within a day by the time that has passed, before that by the calendar. It
// is for the time since the last message and for a thread's beginning: at 00:10, a message of 23:50 was 20 minutes ago.
// What is told of a day has the label of its calendar day instead: that message is of yesterday.
func sinceText(at, now time.Time, zone *time.Location) string {
	switch past := now.Sub(at); {
	case past < time.Minute:
		return "less than a minute ago"
	case past < time.Hour:
		return countText(int(past/time.Minute), "minute") + " ago"
	case past < 24*time.Hour:
		return countText(int(past/time.Hour), "hour") + " ago"
	}
	return conversation.Age(at, now, zone)
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

// clockSpan writes the time from one message to another, or the time of both if it is the same.
func clockSpan(from, to time.Time, zone *time.Location) string {
	first, last := clockTime(from, zone), clockTime(to, zone)
	if first == last {
		return first
	}
	return first + " to " + last
}

func twoDigits(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// date writes a local date in words.
func date(t time.Time, zone *time.Location) string { return t.In(zone).Format("2 January 2006") }

// isoDate writes a local date in figures.
func isoDate(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.DateOnly) }

func isSameDay(a, b time.Time, zone *time.Location) bool {
	yearA, monthA, dayA := a.In(zone).Date()
	yearB, monthB, dayB := b.In(zone).Date()
	return dayA == dayB && monthA == monthB && yearA == yearB
}
