package conversation

import (
	"strconv"
	"time"
)

// Age says in words how long ago a time was: just now, N minutes ago, N hours ago, yesterday or N days ago. Days are
// calendar days in loc: at 00:10, a message of 23:50 is from "yesterday". A time in the future is "just now".
func Age(at, now time.Time, loc *time.Location) string {
	switch days := CalendarDays(at, now, loc); {
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

// CalendarDays counts the midnights in loc between two times. It is negative if at is after now.
func CalendarDays(at, now time.Time, loc *time.Location) int {
	return int(localDate(now, loc).Sub(localDate(at, loc)) / (24 * time.Hour))
}

// localDate returns the date in loc as a time in UTC, where every day has 24 hours.
func localDate(t time.Time, loc *time.Location) time.Time {
	y, m, d := t.In(loc).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}
