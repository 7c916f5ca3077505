package rank

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/word"
)

// maxQueryBytes is how much of a query is read.
const maxQueryBytes = 7500

// Query is what is asked, and what its words show. It may be used concurrently.
type Query struct {
	now time.Time
	// terms are the words that are compared, each once. There are none if the query is small talk, or all its words are
	// of courtesy.
	terms      []string
	asked      word.Query
	courtesy   bool
	normalized string
	// when, number and name say what it asks for.
	when, number, name bool
	// names are the capitalised words of the query, in lower case.
	names []string
	// asksUser and asksAssistant say whose words it asks for.
	asksUser, asksAssistant bool
	dates                   dates
}

// forms are the expressions by which queries are read.
type forms struct {
	// when, number and name match what asks for such words, user and told what asks for the words of one side.
	when, number, name, user, told *regexp.Regexp
	// dayFirst and monthFirst match dates, monthOnly months, relative spans of time.
	dayFirst, monthFirst, monthOnly, relative *regexp.Regexp
}

// readForms compiles the forms with the first query: a function that asks nothing starts without them.
var readForms = sync.OnceValue(func() *forms {
	const months = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?` +
		`|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
	return &forms{
		when: regexp.MustCompile(`(?i)\b(?:when|how (?:long|old|recently)|since|until` +
			`|(?:what|which) (?:date|day|month|year|time|week|weekend))\b`),
		number: regexp.MustCompile(`(?i)\bhow (?:many|much|often|old|long|far|big|heavy|tall|fast|high)\b`),
		name: regexp.MustCompile(`(?i)\b(?:who|whom|whose|where|(?:what|which) (?:\w+ )?(?:names?|called|city` +
			`|country|place|state|book|movie|song|band|brand|company|person|people))\b`),
		user: regexp.MustCompile(`(?i)\b(?:(?:did|have|had|do|was) (?:i|we)` +
			`|i (?:\w+ )?(?:said|told|mention\w*|wrote|asked))\b`),
		told: regexp.MustCompile(`(?i)\b(?:(?:did|have|had) you|you (?:\w+ )?(?:said|told|mention\w*|wrote|suggest\w*` +
			`|recommend\w*|advise\w*|promise\w*|gave)|your (?:advice|suggestions?|recommendations?|answer))\b`),
		dayFirst:   regexp.MustCompile(`(?i)\b([0-9]{1,2})(?:st|nd|rd|th)?(?: of)? ` + months + `\b\.?,?(?: ([0-9]{4})\b)?`),
		monthFirst: regexp.MustCompile(`(?i)\b` + months + `\b\.? ([0-9]{1,2})(?:st|nd|rd|th)?\b,?(?: ([0-9]{4})\b)?`),
		monthOnly: regexp.MustCompile(`(?i)\b(?:in|of|during|since|by|last|early|late|mid) ` + months +
			`\b,?(?: ([0-9]{4})\b)?`),
		relative: regexp.MustCompile(
			`(?i)\b(yesterday|last week|last month|([0-9]+|a|two|three) (day|week|month)s? ago)\b`),
	}
})

// NewQuery reads a query that is asked at a time.
func NewQuery(text string, now time.Time) *Query {
	text = truncate.Bytes(text, maxQueryBytes)
	f := readForms()
	q := &Query{
		now: now, normalized: longterm.Normalize(text), names: capitalised(text),
		when: f.when.MatchString(text), number: f.number.MatchString(text), name: f.name.MatchString(text),
		asksUser: f.user.MatchString(text), asksAssistant: f.told.MatchString(text),
		dates: f.dates(text, now),
	}
	words := strings.FieldsFunc(strings.ToLower(text), isSeparator)
	q.courtesy = len(words) > 0 && !slices.ContainsFunc(words, isContent)
	if asked := word.NewQuery(text); !q.courtesy && !q.isSmallTalk(asked.Terms()) {
		q.asked, q.terms = asked, asked.Terms()
	}
	return q
}

// isSmallTalk reports whether a query of these terms asks for nothing.
func (q *Query) isSmallTalk(terms []string) bool {
	asks := q.when || q.number || q.name || q.asksUser || q.asksAssistant
	return !asks && !slices.ContainsFunc(terms, func(term string) bool { return !courtesyTerms()[term] })
}

// capitalised returns the words with a capital first letter, in lower case.
func capitalised(s string) []string {
	var names []string
	for word := range strings.FieldsFuncSeq(s, isSeparator) {
		word, _, _ = strings.Cut(word, "'")
		if lower := strings.ToLower(word); len(word) > 2 && lower != word && isContent(lower) {
			names = append(names, lower)
		}
	}
	return names
}

// dates are the days that a query names.
type dates struct {
	// days are dates whose year, month and day are 0 where the query names none.
	days []date
	// from and to are a half-open span of time before the time of asking, zero if there is none.
	from, to time.Time
}

type date struct {
	year  int
	month time.Month
	day   int
}

// dates finds the days that a text names.
func (f *forms) dates(text string, now time.Time) dates {
	var d dates
	for _, m := range f.dayFirst.FindAllStringSubmatch(text, -1) {
		d.days = append(d.days, date{number(m[3]), monthOf(m[2]), number(m[1])})
	}
	for _, m := range f.monthFirst.FindAllStringSubmatch(text, -1) {
		d.days = append(d.days, date{number(m[3]), monthOf(m[1]), number(m[2])})
	}
	if len(d.days) == 0 {
		for _, m := range f.monthOnly.FindAllStringSubmatch(text, -1) {
			d.days = append(d.days, date{number(m[2]), monthOf(m[1]), 0})
		}
	}
	if m := f.relative.FindStringSubmatch(text); m != nil {
		d.from, d.to = span(m, now)
	}
	return d
}

// span returns the time that words such as "two weeks ago" mean, a day more on each side of longer ones.
func span(m []string, now time.Time) (from, to time.Time) {
	const day = 24 * time.Hour
	switch strings.ToLower(m[1]) {
	case "yesterday":
		return now.Add(-2 * day), now
	case "last week":
		return now.Add(-14 * day), now
	case "last month":
		return now.AddDate(0, -2, 0), now
	}
	n := max(number(m[2]), 1)
	switch strings.ToLower(m[2]) {
	case "two":
		n = 2
	case "three":
		n = 3
	}
	length := map[string]time.Duration{"day": day, "week": 7 * day, "month": 30 * day}[strings.ToLower(m[3])]
	n = min(n, 1000)
	return now.Add(-time.Duration(n)*length - length), now.Add(-time.Duration(n)*length + length)
}

func monthOf(name string) time.Month {
	const names = "janfebmaraprmayjunjulaugsepoctnovdec"
	return time.Month(strings.Index(names, strings.ToLower(name[:3]))/3 + 1)
}

// number reads at most four digits. It is 0 for anything else.
func number(digits string) int {
	n := 0
	for _, r := range digits {
		if r < '0' || r > '9' || n > 9999 {
			return 0
		}
		n = 10*n + int(r-'0')
	}
	return n
}

// share is 1 for a time that the query names, a half for the week after it, because people tell what happened, and
// else 0.
func (d dates) share(at time.Time) float64 {
	best := 0.0
	if !d.from.IsZero() && !at.Before(d.from) && at.Before(d.to) {
		best = 1
	}
	for _, day := range d.days {
		best = max(best, day.share(at.UTC()))
	}
	return best
}

const week = 7

func (d date) share(at time.Time) float64 {
	if d.year == 0 {
		d.year = at.Year()
	}
	first := time.Date(d.year, d.month, max(d.day, 1), 0, 0, 0, 0, time.UTC)
	end := first.AddDate(0, 0, 1)
	if d.day == 0 {
		end = first.AddDate(0, 1, 0)
	}
	switch {
	case !at.Before(first) && at.Before(end):
		return 1
	case !at.Before(first) && at.Before(end.AddDate(0, 0, week)):
		return 0.5
	}
	return 0
}
