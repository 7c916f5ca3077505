package prompt

import (
	"fmt"
	"strconv"
	"time"
)

// Age words a time that is past, as a person in that place would on that day (api 4): just now, N minutes ago, N hours
// ago, yesterday, N days ago. Days are calendar days, so what was said at 23:50 is "yesterday" at 00:10, whatever the
// clock change in between.
func Age(at, now time.Time, place *time.Location) string {
	if days := calendarDays(at, now, place); days > 0 {
		return dayWords(days)
	}
	switch past := now.Sub(at); {
	case past < time.Minute:
		return "just now"
	case past < time.Hour:
		return plural(int(past/time.Minute), "minute") + " ago"
	default:
		return plural(int(past/time.Hour), "hour") + " ago"
	}
}

func dayWords(days int) string {
	if days == 1 {
		return "yesterday"
	}
	return plural(days, "day") + " ago"
}

// dayLabel names a time's day relative to now: today, yesterday, the weekday within a week, N days ago
// (conversation-context-engine, "Calendar-day relative labels").
func dayLabel(at, now time.Time, place *time.Location) string {
	switch days := calendarDays(at, now, place); {
	case days <= 0:
		return "today"
	case days == 1:
		return "yesterday"
	case days < 7:
		return at.In(place).Weekday().String()
	default:
		return plural(days, "day") + " ago"
	}
}

// calendarDays counts the local midnights between two times, negative where at is ahead.
func calendarDays(at, now time.Time, place *time.Location) int {
	return int(dateOf(now, place).Sub(dateOf(at, place)) / (24 * time.Hour))
}

// dateOf is the local date as a time in UTC, where every day has 24 hours.
func dateOf(t time.Time, place *time.Location) time.Time {
	y, m, d := t.In(place).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// lasting words how long something takes, roughly: less than a minute, N minutes, N hours, N days.
func lasting(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return plural(int(d/time.Minute), "minute")
	case d < 24*time.Hour:
		return plural(int(d/time.Hour), "hour")
	default:
		return plural(int(d/(24*time.Hour)), "day")
	}
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// clock writes a local time to the minute; prompts name nothing finer (design 4.4).
func clock(t time.Time, place *time.Location) string {
	local := t.In(place)
	return twoDigits(local.Hour()) + ":" + twoDigits(local.Minute())
}

func twoDigits(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
