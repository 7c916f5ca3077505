package prompt

import (
	"fmt"
	"strconv"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// dayLabel names a time's day relative to now: today, yesterday, the weekday within a week, N days ago
// (conversation-context-engine, "Calendar-day relative labels").
func dayLabel(at, now time.Time, place *time.Location) string {
	switch days := conversation.CalendarDays(at, now, place); {
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
