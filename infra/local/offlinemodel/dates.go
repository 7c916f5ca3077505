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

const (
	countWords = `(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten)`
	leadWords  = `(for|by|since|until|till|from|on|in|of|before|after|than)`
)

var (
	relativeDay = regexp.MustCompile(`(?i)\b(?:` + leadWords + ` )?(the day after tomorrow|` +
		`the day before yesterday|today|tonight|tomorrow|yesterday|` +
		`this morning|this afternoon|this evening|last night)\b('s)?`)
	foreignDay = regexp.MustCompile(`(^|\s)(heute|morgen|gestern|hoy|mañana|ayer)(\s|$)`)
	relativeBy = regexp.MustCompile(`(?i)\b(?:(in) |about |around )?` + countWords + ` (day|week|month|year)s?( ago)?\b`)
	weekday    = regexp.MustCompile(`(?i)\b(on|by|until|till|since|for|next|last|this) ` +
		`(mon|tues|wednes|thurs|fri|satur|sun)day\b`)
	lastDate = regexp.MustCompile(`(?i)\b(?:until|till|through|bis|hasta|` +
		`from (?:the )?\d{1,2}(?:st|nd|rd|th)?(?: \w+)? to)` +
		`(?: the| zum| el)? (?:(\d{4}-\d\d-\d\d)|` +
		`(\d{1,2})(?:st|nd|rd|th)?(?: of)? (january|february|march|april|may|june|july|august|september|october|` +
		`november|december))\b`)
	period      = regexp.MustCompile(`(?i)\b(?:` + leadWords + ` )?(last|next|this) (week|weekend|month|year)\b`)
	futureWords = regexp.MustCompile(`(?i)\b(?:will|going to|book\w*|call|buy|` +
		`plan\w*|appointment|starts?|due|meet|see)\b|'ll\b`)
	lasted     = regexp.MustCompile(`(?i)\b(?:lost|gained|dropped|improved|did|ran|went|down)\b`)
	dayOffsets = map[string]int{
		"tomorrow": 1, "yesterday": -1, "last night": -1, "the day after tomorrow": 2, "the day before yesterday": -2,
		"morgen": 1, "gestern": -1, "mañana": 1, "ayer": -1,
	}
)

// resolve puts dates in the place of the words that are relative to a moment.
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
	text = replace(foreignDay, text, func(m []string) string {
		article := "am "
		if strings.ContainsAny(m[2], "ñy") {
			article = "el "
		}
		return m[1] + article + at.day(dayOffsets[m[2]]) + m[3]
	})
	text = replace(period, text, at.period)
	text = replace(weekday, text, func(m []string) string { return at.weekday(m, futureWords.MatchString(text)) })
	return replace(relativeBy, text, func(m []string) string {
		switch {
		case m[4] != "":
			return at.distance(m[3], -count(m[2]))
		case m[1] != "" && !lasted.MatchString(text):
			return at.distance(m[3], count(m[2]))
		default:
			return m[0]
		}
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

// weekday dates "on Friday": the last one, or the next one where the words or what is said look ahead.
func (at moment) weekday(m []string, future bool) string {
	lead, offset := strings.ToLower(m[1]), 0
	for !strings.HasPrefix(strings.ToLower(at.AddDate(0, 0, offset).Weekday().String()), strings.ToLower(m[2])) {
		offset++
	}
	switch lead {
	case "last":
		offset, lead = offset-7, "on"
	case "since":
		offset -= 7
	case "on":
		if !future {
			return m[0]
		}
	case "next", "this":
		lead = "on"
	}
	return lead + " " + at.day(offset)
}

// period dates a week, month or year.
func (at moment) period(m []string) string {
	offset := map[string]int{"last": -1, "this": 0, "next": 1}[strings.ToLower(m[2])]
	monday := -(int(at.Weekday())+6)%7 + 7*offset
	date := strconv.Itoa(at.Year() + offset)
	switch strings.ToLower(m[3]) {
	case "week":
		date = "the week of " + at.day(monday)
	case "weekend":
		date = "the weekend of " + at.day(monday+5)
	case "month":
		date = at.month(offset)
	}
	return cmp.Or(strings.ToLower(m[1]), "in") + " " + date
}

// month names the month that is some months away.
func (at moment) month(offset int) string {
	return time.Date(at.Year(), at.Month()+time.Month(offset), 1, 0, 0, 0, 0, time.UTC).Format("January 2006")
}

// distance dates what is some days, weeks, months or years away, as exactly as the unit is.
func (at moment) distance(unit string, n int) string {
	switch strings.ToLower(unit) {
	case "day":
		return "on " + at.day(n)
	case "week":
		return "around " + at.day(7*n)
	case "month":
		return "in " + at.month(n)
	default:
		return "in " + strconv.Itoa(at.Year()+n)
	}
}

// count reads a number of countWords.
func count(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	for i, name := range strings.Fields("one two three four five six seven eight nine ten") {
		if strings.EqualFold(name, text) {
			return i + 1
		}
	}
	return 1
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
