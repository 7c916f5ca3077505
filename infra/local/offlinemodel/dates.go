package offlinemodel

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// moment is the time to which words such as "tomorrow" are relative. The zero moment leaves the words as they are.
// With iso, days are written as 2026-02-05.
type moment struct {
	time.Time
	iso bool
}

var (
	relativeDay = regexp.MustCompile(`(?i)\b(?:(for|by|since|until|till|from|on|in|of|before|after|than) )?(today|` +
		`tonight|tomorrow|yesterday|this morning|this afternoon|this evening|last night)\b('s)?`)
	weekday = regexp.MustCompile(`(?i)\b(by|until|till|since|next|last|this) ` +
		`(mon|tues|wednes|thurs|fri|satur|sun)day\b`)
	isoDate  = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
	lastDate = regexp.MustCompile(`(?i)\b(?:until|till|through|bis|hasta|` +
		`from (?:the )?\d{1,2}(?:st|nd|rd|th)?(?: \w+)? to)` +
		`(?: the| zum| el)? (?:(\d{4}-\d\d-\d\d)|` +
		`(\d{1,2})(?:st|nd|rd|th)?(?: of)? (january|february|march|april|may|june|july|august|september|october|` +
		`november|december))\b`)
	dayOffsets = map[string]int{"tomorrow": 1, "yesterday": -1, "last night": -1}
)

// resolve puts dates in the place of the words that are relative to a moment: "tomorrow", "next Tuesday".
func (at moment) resolve(text string) string {
	if at.IsZero() {
		return text
	}
	text = replace(relativeDay, text, func(m []string) string {
		if m[3] != "" {
			return m[0] // "tomorrow's session"
		}
		return cmp.Or(strings.ToLower(m[1]), "on") + " " + at.day(dayOffsets[strings.ToLower(m[2])])
	})
	return replace(weekday, text, func(m []string) string {
		lead, offset := strings.ToLower(m[1]), 0
		for !strings.HasPrefix(strings.ToLower(at.AddDate(0, 0, offset).Weekday().String()), strings.ToLower(m[2])) {
			offset++
		}
		if lead == "last" || lead == "since" {
			offset -= 7
		}
		if lead == "last" || lead == "next" || lead == "this" {
			lead = "on"
		}
		return lead + " " + at.day(offset)
	})
}

// replace replaces each match by what write makes of its groups.
func replace(pattern *regexp.Regexp, text string, write func(groups []string) string) string {
	return pattern.ReplaceAllStringFunc(text, func(found string) string {
		return write(pattern.FindStringSubmatch(found))
	})
}

// day writes the day that is some days away.
func (at moment) day(offset int) string {
	if at.iso {
		return at.AddDate(0, 0, offset).Format(time.DateOnly)
	}
	return at.AddDate(0, 0, offset).Format("2 January 2006")
}

// lastDay is the day until which a text says that something holds, as 2026-11-20, or nothing.
// A day without a year is the next one.
func (at moment) lastDay(text string) string {
	m := lastDate.FindStringSubmatch(text)
	switch {
	case m == nil || at.IsZero():
		return ""
	case m[1] != "":
		return m[1]
	}
	day, err := time.Parse("2 January 2006", m[2]+" "+capitalize(strings.ToLower(m[3]))+" "+strconv.Itoa(at.Year()))
	if err != nil {
		return ""
	}
	if day.Before(at.Time.AddDate(0, 0, -1)) {
		day = day.AddDate(1, 0, 0)
	}
	return day.Format(time.DateOnly)
}
