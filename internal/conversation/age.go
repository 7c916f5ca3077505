package conversation

import (
	"strconv"
	"time"
)

// Age says in words how long ago a time was: just now, N minutes ago, N hours ago, yesterday, N days ago, and past 30
// days N months or N years ago with the date. Days are calendar days in loc: at 00:10, a message of 23:50 is from
// "yesterday". A time in the future is "just now".
func Age(at, now time.Time, loc *time.Location) string {
	switch days := CalendarDays(at, now, loc); {
	case days > MonthDays:
		return longAge(at.In(loc), now.In(loc))
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

// MonthDays is the number of days past which ages are in months and years.
const MonthDays = 30

// longAge is the age of a time more than MonthDays ago, in whole months or years, with the date.
func longAge(at, now time.Time) string {
	months := (now.Year()-at.Year())*12 + int(now.Month()-at.Month())
	if now.Day() < at.Day() {
		months--
	}
	age := count(max(months, 1), "month")
	if months >= 12 {
		age = count(months/12, "year")
	}
	return age + " ago (" + at.Format("2 January 2006") + ")"
}

// LocalTime writes a text that is a time in the form of RFC 3339 as the local date and time to the minute. It returns
// any other text as it is.
func LocalTime(text string, zone *time.Location) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return at.In(zone).Format("2 January 2006, 15:04")
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
