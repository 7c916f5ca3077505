package rank

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/word"
)

// monthNames are the names of the months in the languages whose days queries are understood in, a line for each month:
// English, German, Dutch, Spanish, Portuguese, French, Italian, Russian, Arabic, Hindi, Indonesian.
const monthNames = `
jan january januar januari enero janeiro janvier gennaio января январь январе يناير जनवरी
feb february februar februari febrero fevereiro février febbraio февраля февраль феврале فبراير फरवरी
mar march märz maart marzo março mars марта март марте مارس मार्च maret
apr april abril avril aprile апреля апрель апреле أبريل ابريل अप्रैल
may mai mei mayo maio maggio мая май мае مايو मई
june jun juni junio junho juin giugno июня июнь июне يونيو जून
july jul juli julio julho juillet luglio июля июль июле يوليو जुलाई
aug august augustus agosto août августа август августе أغسطس अगस्त agustus
sep sept september septiembre setiembre setembro septembre settembre сентября сентябрь сентябре سبتمبر सितंबर सितम्बर
oct october oktober octubre outubro octobre ottobre октября октябрь октябре أكتوبر अक्टूबर
nov november noviembre novembro novembre ноября ноябрь ноябре نوفمبر नवंबर नवम्बर
dec december dezember diciembre dezembro décembre dicembre декабря декабрь декабре ديسمبر दिसंबर दिसम्बर desember`

// dateForms are the expressions by which dates are read in a folded text.
type dateForms struct {
	// months has the number of a month by its folded name.
	months map[string]time.Month
	// dayFirst and monthFirst match dates, monthOnly months, yearFirst those of ISO 8601 and of East Asia.
	dayFirst, monthFirst, monthOnly, yearFirst *regexp.Regexp
	// relative and ago match spans of time, in English and in languages of East Asia.
	relative, ago *regexp.Regexp
}

func newDateForms() dateForms {
	f := dateForms{months: map[string]time.Month{}}
	var names []string
	for n, line := range strings.Split(strings.TrimSpace(monthNames), "\n") {
		for name := range strings.FieldsSeq(line) {
			name = word.Fold(name)
			f.months[name] = time.Month(n + 1)
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // the longest first
	month := "(" + strings.Join(names, "|") + ")"
	const end = `(?:[^\pL\pM0-9]|$)`
	const year = `(?:\.?,?(?: del?)? ([0-9]{4}))?`
	const before = `(?:^|[^\pL])(?:in|of|during|since|by|last|early|late|mid|im|seit|anfang|mitte|ende|sinds|en|de|desde` +
		`|durante|em|di|au|depuis|\x{432}|\x{441}|\x{641}\x{64a})`
	compile := func(form string, parts ...any) *regexp.Regexp { return regexp.MustCompile(fmt.Sprintf(form, parts...)) }
	f.dayFirst = compile(`\b([0-9]{1,2})(?:st|nd|rd|th|er|\.)?(?: (?:of|de|di))? %s%s%s`, month, year, end)
	f.monthFirst = compile(`\b%s\.? ([0-9]{1,2})(?:st|nd|rd|th)?(?:,? ([0-9]{4}))?%s`, month, end)
	f.monthOnly = compile(`%s %s%s%s`, before, month, `,?`+year, end)
	f.yearFirst = compile(`\b([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})\b` +
		`|(?:([0-9]{4}) ?[年년] ?)?\b([0-9]{1,2}) ?[月월](?: ?([0-9]{1,2}) ?[日号일])?`)
	f.relative = compile(`\b(yesterday|last week|last month|([0-9]+|a|two|three) (day|week|month)s? ago)\b`)
	f.ago = compile(`昨[天日]|어제|(上个?(?:周|星期)|先周|지난주)|(上个?月|先月|지난달)`)
	return f
}

// dates are the days that a query names.
type dates struct {
	// days are dates whose year, month and day are 0 where the query names none.
	days []date
	// from and to are a half-open span of time before the time of asking, zero if there is none.
	from, to time.Time
}

// isNamed reports whether the query names a day, a month, or a span of time in the past.
func (d dates) isNamed() bool { return len(d.days) > 0 || !d.from.IsZero() }

type date struct {
	year  int
	month time.Month
	day   int
}

// relativeWords are those of spans of time.
var relativeWords = []string{"yesterday", "last", "ago"}

// beside is how far from the name of a month, or from a word of a span of time, the rest of a date is, in bytes.
const beside = 24

// around returns what is around the months' names and the words of spans of time, in a text's order.
func (f *dateForms) around(r reading) string {
	var b strings.Builder
	end := 0
	for _, p := range r.places {
		if f.months[p.word] == 0 && !slices.Contains(relativeWords, p.word) {
			continue
		}
		from := max(p.at-beside, 0)
		if from > end {
			b.WriteString(" | ")
		}
		to := min(p.at+len(p.word)+beside, len(r.text))
		b.WriteString(r.text[max(from, end):to])
		end = to
	}
	return b.String()
}

// dates finds the days that a text names.
func (f *dateForms) dates(r reading, now time.Time) dates {
	var d dates
	text := f.around(r)
	if strings.ContainsAny(r.text, "0123456789") {
		for _, m := range f.dayFirst.FindAllStringSubmatch(text, -1) {
			d.days = append(d.days, date{number(m[3]), f.months[m[2]], number(m[1])})
		}
		for _, m := range f.monthFirst.FindAllStringSubmatch(text, -1) {
			d.days = append(d.days, date{number(m[3]), f.months[m[1]], number(m[2])})
		}
		if r.isEast || strings.Contains(r.text, "-") {
			d.addYearFirst(f.yearFirst.FindAllStringSubmatch(r.text, -1))
		}
	}
	if len(d.days) == 0 {
		for _, m := range f.monthOnly.FindAllStringSubmatch(text, -1) {
			d.days = append(d.days, date{number(m[2]), f.months[m[1]], 0})
		}
	}
	if m := f.relative.FindStringSubmatch(text); m != nil {
		d.from, d.to = span(m, now)
	}
	if !r.isEast {
		return d
	}
	if m := f.ago.FindStringSubmatch(r.text); m != nil {
		said := "yesterday"
		if m[1] != "" {
			said = "last week"
		} else if m[2] != "" {
			said = "last month"
		}
		d.from, d.to = span([]string{said, said}, now)
	}
	return d
}

// addYearFirst adds dates that yearFirst matches: those with a day, or else the months.
func (d *dates) addYearFirst(matches [][]string) {
	var months []date
	for _, m := range matches {
		if m[1] != "" {
			m = m[:4]
		} else {
			m = m[3:]
		}
		found := date{number(m[1]), time.Month(number(m[2])), number(m[3])}
		switch {
		case found.month < 1 || found.month > 12:
		case found.day > 0:
			d.days = append(d.days, found)
		default:
			months = append(months, found)
		}
	}
	if len(d.days) == 0 {
		d.days = months
	}
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
	s := d.in(at.Year())
	switch {
	case at.Before(s.From) || !at.Before(s.To.AddDate(0, 0, week)):
		return 0
	case at.Before(s.To):
		return 1
	}
	return 0.5
}

// Span is a half-open span of time.
type Span struct{ From, To time.Time }

// in is the span of the date, in that year if it names none.
func (d date) in(year int) Span {
	first := time.Date(cmp.Or(d.year, year), d.month, max(d.day, 1), 0, 0, 0, 0, time.UTC)
	if d.day == 0 {
		return Span{first, first.AddDate(0, 1, 0)}
	}
	return Span{first, first.AddDate(0, 0, 1)}
}

// yearsBack is in how many years a date without a year may have been, and maxSpans how many spans a query has: a pasted
// log names more.
const yearsBack, maxSpans = 4, 16

// Spans returns the days, months and other spans of time that the query names, at most 16: of a date without a year,
// those of the last years, and a span such as "last week" only where the query asks. People say that in passing.
func (q *Query) Spans() (spans []Span) {
	if !q.dates.from.IsZero() && q.asksPast {
		spans = append(spans, Span{q.dates.from, q.dates.to})
	}
	for _, d := range q.dates.days {
		for back := range yearsBack {
			if s := d.in(q.now.Year() - back); s.From.Before(q.now) && !slices.Contains(spans, s) {
				spans = append(spans, s)
			}
		}
	}
	return spans[:min(len(spans), maxSpans)]
}
