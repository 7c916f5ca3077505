package longterm

import (
	"errors"
	"strings"
	"time"
)

// Moment is a day or a time: when a memory ends to be true, or when a todo is due. The zero value is none.
type Moment struct {
	// Day is a calendar day, such as 2026-11-20, in the user's zone. It is empty where a time is meant.
	Day string
	// Time is the time where no day is meant.
	Time time.Time
}

// ErrMoment is the error for a text that is neither a day nor a time.
var ErrMoment = errors.New("must be a day such as 2026-11-20, or an RFC 3339 time")

// ParseMoment returns the moment of a text: a day, or an RFC 3339 time. An empty text is the zero value.
func ParseMoment(text string) (Moment, error) {
	if text == "" {
		return Moment{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		if day.Year() < 1 {
			return Moment{}, ErrMoment
		}
		return Moment{Day: text}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Year() < 1 || at.UTC().Year() > 9998 {
		return Moment{}, ErrMoment
	}
	return Moment{Time: at.UTC().Truncate(time.Millisecond)}, nil
}

// String is the text of which ParseMoment makes the moment.
func (m Moment) String() string {
	switch {
	case m.Day != "":
		return m.Day
	case m.Time.IsZero():
		return ""
	}
	return m.Time.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// IsZero reports whether there is no moment.
func (m Moment) IsZero() bool { return m.Day == "" && m.Time.IsZero() }

// IsOver reports whether a moment is over at a time. A day is over when it is a later day in the zone of that time.
func (m Moment) IsOver(now time.Time) bool {
	if m.Day != "" {
		return now.Format(time.DateOnly) > m.Day
	}
	return !m.Time.IsZero() && !now.Before(m.Time)
}

// IsAhead reports whether a moment is still to come at a time. A day has come when it begins in the zone of that time.
func (m Moment) IsAhead(now time.Time) bool {
	if m.Day != "" {
		return now.Format(time.DateOnly) < m.Day
	}
	return now.Before(m.Time)
}

// Start is when a moment begins: of a day its midnight in a zone.
func (m Moment) Start(zone *time.Location) time.Time {
	if day, err := time.ParseInLocation(time.DateOnly, m.Day, zone); err == nil {
		return day
	}
	return m.Time
}

// End is when a moment is over: of a day the next midnight in a zone.
func (m Moment) End(zone *time.Location) time.Time {
	if m.Day != "" {
		return m.Start(zone).AddDate(0, 0, 1)
	}
	return m.Time
}

// Before is the last moment before another one: of a day the day before.
func (m Moment) Before() Moment {
	if day, err := time.Parse(time.DateOnly, m.Day); err == nil {
		return Moment{Day: day.AddDate(0, 0, -1).Format(time.DateOnly)}
	}
	return m
}

// isNumber reports whether a word is the number of a day in its month, such as "9", "09" and "9日".
func (m Moment) isNumber(word string) bool {
	number := strings.TrimRightFunc(word, func(r rune) bool { return r < '0' || r > '9' })
	return number != "" && strings.TrimPrefix(number, "0") == strings.TrimPrefix(m.Day[max(0, len(m.Day)-2):], "0")
}

// lastZone is the zone where a day ends last, firstZone the one where it begins first.
var (
	lastZone  = time.FixedZone("UTC-12", -12*60*60)
	firstZone = time.FixedZone("UTC+14", 14*60*60)
)

// InLastZone returns a time in the zone where a day ends last. Who does not know the user's zone asks with it: no day
// is over too early.
func InLastZone(now time.Time) time.Time { return now.In(lastZone) }
