// Package calendar says in words and figures when something was, in the user's time zone, as prompts name it.
package calendar

import (
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones are known wherever the function runs

	"github.com/throughline/throughline/internal/conversation"
)

// Label names a time's day relative to now: today, yesterday, the weekday within a week, N days ago, and past a
// month N months or years ago (conversation-context-engine, "Calendar-day relative labels").
func Label(at, now time.Time, zone *time.Location) string {
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

// Day names a day by its date, with the day relative to now: today, or 4 November (9 days ago). The year is given
// if it is not this year.
func Day(at, now time.Time, zone *time.Location) string {
	label := Label(at, now, zone)
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

// Since says how long ago something was: within a day by the time that has passed, before that by the calendar. It
// is for the time since the last message and for a thread's beginning: at 00:10, a message of 23:50 was 20 minutes ago.
// What is written of a day has the label of its calendar day instead: that message is of yesterday.
func Since(at, now time.Time, zone *time.Location) string {
	switch past := now.Sub(at); {
	case past < time.Minute:
		return "less than a minute ago"
	case past < time.Hour:
		return Count(int(past/time.Minute), "minute") + " ago"
	case past < 24*time.Hour:
		return Count(int(past/time.Hour), "hour") + " ago"
	}
	return conversation.Age(at, now, zone)
}

// Count writes a number of things: "1 minute", "2 minutes".
func Count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// Clock writes a local time to the minute. Prompts contain no finer times.
func Clock(t time.Time, zone *time.Location) string {
	hour, minute, _ := t.In(zone).Clock() // a third of the time of Format; a prompt has a time for each message
	digit := func(n int) byte { return byte('0' + n) }
	return string([]byte{digit(hour / 10), digit(hour % 10), ':', digit(minute / 10), digit(minute % 10)})
}

// Span writes the time from one message to another, or the time of both if it is the same.
func Span(from, to time.Time, zone *time.Location) string {
	first, last := Clock(from, zone), Clock(to, zone)
	if first == last {
		return first
	}
	return first + " to " + last
}

// AgeOrDate is conversation.Age for a month, and before that the date alone. Where many old days are told, an age
// beside each date would take the room of a few messages.
func AgeOrDate(at, now time.Time, zone *time.Location) string {
	if conversation.CalendarDays(at, now, zone) > conversation.MonthDays {
		return Date(at, zone)
	}
	return conversation.Age(at, now, zone)
}

// Date writes a local date in words.
func Date(t time.Time, zone *time.Location) string { return t.In(zone).Format("2 January 2006") }

// ISO writes a local date in figures.
func ISO(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.DateOnly) }

// IsSameDay reports whether two times are of one local day.
func IsSameDay(a, b time.Time, zone *time.Location) bool {
	a, b = a.In(zone), b.In(zone)
	return a.YearDay() == b.YearDay() && a.Year() == b.Year()
}

// zones caches the time zones that were asked for, of which there are about six hundred.
var zones sync.Map

// Zone returns the IANA time zone of a name. It refuses "Local", which is whatever zone the machine has.
func Zone(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	if name == "Local" || name == "" {
		return nil, fmt.Errorf("%q is no time zone", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	zones.Store(name, zone)
	return zone, nil
}
