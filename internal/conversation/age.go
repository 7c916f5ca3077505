package conversation

import (
	"strconv"
	"time"
)

// Age words a time that is past, as a person in that place would say it (api 4): just now, N minutes ago, N hours ago,
// yesterday, N days ago. Days are calendar days: what was said at 23:50 is "yesterday" at 00:10, whatever the clock
// change in between. A time ahead is "just now".
func Age(at, now time.Time, place *time.Location) string {
	switch days := CalendarDays(at, now, place); {
	case days == 1:
		return "yesterday"
	case days > 1:
		return strconv.Itoa(days) + " days ago"
	}
	switch past := now.Sub(at); {
	case past < time.Minute:
		return "just now"
	case past < time.Hour:
		return count(int(past/time.Minute), "minute") + " ago"
	default:
		return count(int(past/time.Hour), "hour") + " ago"
	}
}

// CalendarDays counts the local midnights between two times, negative where at is ahead of now.
func CalendarDays(at, now time.Time, place *time.Location) int {
	return int(localDate(now, place).Sub(localDate(at, place)) / (24 * time.Hour))
}

// localDate is the local date as a time in UTC, where every day has 24 hours.
func localDate(t time.Time, place *time.Location) time.Time {
	y, m, d := t.In(place).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}
