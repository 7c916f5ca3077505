package offlinemodel

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// moment is a time to which words such as "tomorrow" are relative. The zero moment leaves the words as they are.
// With iso, days are written as 2026-02-05.
type moment struct {
	time.Time
	iso bool
}

// dateRule puts a date in the place of words that match. write gets the groups of the match. It returns nothing where
// the words stay as they are.
type dateRule struct {
	match *regexp.Regexp
	write func(at moment, groups []string, tense tense) string
}

// tense is where a statement is in time.
type tense int8

// lasted matches statements in which "in two weeks" may be how long something took.
var lasted = regexp.MustCompile(`(?i)\b(?:lost|gained|dropped|improved|did|ran|went|down|up from)\b`)

const (
	present tense = iota
	past
	future
)

var (
	futureWords = regexp.MustCompile(`(?i)\b(?:will|going to|need to|have to|must|should|remind|forget|todo|plan\w*|` +
		`seeing|meeting|flying|book|want to|appointment|starts?|due)\b|'ll\b`)
	pastWords = regexp.MustCompile(`(?i)\b(?:\w{3,}ed|was|were|did|had|went|ran|got|made|took|came|began|broke|tore|` +
		`fell|` +
		`bought|hurts?|lost|met|saw|ate|slept|felt|gave)\b`)
)

func tenseOf(text string) tense {
	switch {
	case futureWords.MatchString(text):
		return future
	case pastWords.MatchString(text):
		return past
	default:
		return present
	}
}

const (
	weekdayNames = `(monday|tuesday|wednesday|thursday|friday|saturday|sunday)`
	countWords   = `(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|a couple of)`
	leadWords    = `(?:for|by|since|until|till|from|on|in|of|before|after|than)`
	dayParts     = `(?: (morning|afternoon|evening|night))?`
)

// dateRules are tried in their order, each on what the others have left.
var dateRules = []dateRule{
	{
		regexp.MustCompile(`(?i)\b(?:on )?(?:the )?day (after tomorrow|before yesterday)\b`),
		func(at moment, m []string, _ tense) string {
			if strings.HasPrefix(strings.ToLower(m[1]), "after") {
				return "on " + at.day(2)
			}
			return "on " + at.day(-2)
		},
	},
	{
		regexp.MustCompile(`(?i)\b(` + leadWords + ` )?(today|tomorrow|yesterday)('s)?` + dayParts + `\b`),
		func(at moment, m []string, _ tense) string {
			offset := map[string]int{"today": 0, "tomorrow": 1, "yesterday": -1}[strings.ToLower(m[2])]
			if m[3] != "" {
				return ""
			}
			return preposition(m[1]) + at.day(offset) + partOfDay(m[4])
		},
	},
	{
		regexp.MustCompile(`(?i)\b(this|last) (morning|afternoon|evening|night)\b|\b(tonight)\b`),
		func(at moment, m []string, _ tense) string {
			switch {
			case m[3] != "":
				return "on " + at.day(0) + partOfDay("evening")
			case strings.EqualFold(m[1], "last"):
				return "on " + at.day(-1) + partOfDay(m[2])
			default:
				return "on " + at.day(0) + partOfDay(m[2])
			}
		},
	},
	{regexp.MustCompile(`(?i)\b(` + leadWords + ` )?((?:last|next|this|this coming|coming) )?` +
		weekdayNames + `\b`), weekdayDate},
	{regexp.MustCompile(`(?i)\b(` + leadWords + ` )?(last|next|this) (week|weekend|month|year)\b`), periodDate},
	{
		regexp.MustCompile(`(?i)\b(?:about |around )?` + countWords + ` (day|week|month|year)s? (ago)\b`),
		func(at moment, m []string, _ tense) string { return at.distance(m[2], -count(m[1])) },
	},
	{
		regexp.MustCompile(`\b(heute|morgen|gestern|vorgestern)(\s|$)`),
		func(at moment, m []string, _ tense) string { return "am " + at.day(foreignDays[m[1]]) + m[2] },
	},
	{
		regexp.MustCompile(`(^|\s)(hoy|pasado mañana|mañana|ayer|anteayer)(\s|$)`),
		func(at moment, m []string, _ tense) string { return m[1] + "el " + at.day(foreignDays[m[2]]) + m[3] },
	},
}

var foreignDays = map[string]int{
	"morgen": 1, "gestern": -1, "vorgestern": -2, "mañana": 1, "pasado mañana": 2, "ayer": -1, "anteayer": -2,
}

// ahead dates "in two weeks", which in some statements is how long something took.
var ahead = dateRule{
	regexp.MustCompile(`(?i)\bin (?:about )?` + countWords + ` (day|week|month|year)s?\b('|’)?`),
	func(at moment, m []string, _ tense) string {
		if m[3] != "" {
			return ""
		}
		return at.distance(m[2], count(m[1]))
	},
}

// resolve puts dates in the place of the words that are relative to a moment.
func (at moment) resolve(text string) string {
	if at.IsZero() {
		return text
	}
	when := tenseOf(text)
	rules := dateRules
	if !lasted.MatchString(text) {
		rules = append(slices.Clip(rules), ahead)
	}
	for _, rule := range rules {
		text = replaceGroups(rule.match, text, func(groups []string) string { return rule.write(at, groups, when) })
	}
	return text
}

// replaceGroups replaces each match by what write makes of its groups, unless that is nothing.
func replaceGroups(form *regexp.Regexp, text string, write func(groups []string) string) string {
	return form.ReplaceAllStringFunc(text, func(found string) string {
		if written := write(form.FindStringSubmatch(found)); written != "" {
			return written
		}
		return found
	})
}

// day writes the day that is some days away.
func (at moment) day(offset int) string {
	if at.iso {
		return at.AddDate(0, 0, offset).Format(time.DateOnly)
	}
	return at.AddDate(0, 0, offset).Format("2 January 2006")
}

func partOfDay(part string) string {
	switch part = strings.ToLower(part); part {
	case "":
		return ""
	case "night":
		return " at night"
	default:
		return " in the " + part
	}
}

// preposition keeps a preposition that a date goes with. Without one a date gets "on".
func preposition(word string) string {
	if word == "" {
		return "on "
	}
	return word
}

// weekdayDate dates a day of the week where the words or the tense say which one is meant.
func weekdayDate(at moment, m []string, when tense) string {
	lead, which, name := strings.ToLower(m[1]), strings.ToLower(strings.TrimSpace(m[2])), strings.ToLower(m[3])
	switch {
	case which == "last" || lead == "since ":
		when = past
	case which != "" || lead == "for " || lead == "by " || lead == "until " || lead == "till ":
		when = future
	case lead == "":
		return "" // "Monday is leg day"
	}
	ahead := (weekdayNumber(name) - int(at.Weekday()) + 7) % 7
	switch {
	case when == present:
		return ""
	case when == past && ahead >= 0:
		if ahead -= 7; ahead == -7 && which != "last" {
			ahead = 0
		}
	case ahead == 0:
		ahead = 7
	}
	if !at.iso {
		name = at.AddDate(0, 0, ahead).Weekday().String() + " "
	} else {
		name = ""
	}
	return preposition(lead) + name + at.day(ahead)
}

func weekdayNumber(name string) int {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.EqualFold(day.String(), name) {
			return int(day)
		}
	}
	return 0
}

// periodDate dates a week, month or year.
func periodDate(at moment, m []string, _ tense) string {
	lead := strings.ToLower(strings.TrimSpace(m[1]))
	offset := map[string]int{"last": -1, "this": 0, "next": 1}[strings.ToLower(m[2])]
	monday := -(int(at.Weekday())+6)%7 + 7*offset
	with := func(usual, date string) string {
		if lead == "" || lead == "in" || lead == "on" {
			return usual + date
		}
		return lead + " " + date
	}
	switch strings.ToLower(m[3]) {
	case "week":
		return with("in ", "the week of "+at.day(monday))
	case "weekend":
		return with("on ", "the weekend of "+at.day(monday+5))
	case "month":
		return with("in ", at.month(offset).Format("January 2006"))
	default:
		return with("in ", strconv.Itoa(at.Year()+offset))
	}
}

// month is the first day of a month.
func (at moment) month(offset int) time.Time {
	return time.Date(at.Year(), at.Month()+time.Month(offset), 1, 0, 0, 0, 0, time.UTC)
}

// distance dates what is some days, weeks, months or years away, as exactly as the unit is.
func (at moment) distance(unit string, n int) string {
	switch strings.ToLower(unit) {
	case "day":
		return "on " + at.day(n)
	case "week":
		return "around " + at.day(7*n)
	case "month":
		return "in " + at.month(n).Format("January 2006")
	default:
		return "in " + strconv.Itoa(at.Year()+n)
	}
}

// count reads a number of countWords.
func count(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	switch text = strings.ToLower(text); text {
	case "a", "an":
		return 1
	case "a couple of":
		return 2
	case "twelve":
		return 12
	}
	for i, name := range strings.Fields("one two three four five six seven eight nine ten") {
		if name == text {
			return i + 1
		}
	}
	return 0
}
