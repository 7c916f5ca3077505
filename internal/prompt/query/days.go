package query

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// dayName says when a day is: how many days ago, "monday" for the last Monday before today, "week_monday" for that of
// the week before this one, "2_week" for the week two before this one, or "1_month" for the month before this one.
type dayName struct{ words, ago string }

// date is a day of the calendar, such as "21 January". The year is 0 where it is not said, and the day is 0 for a whole
// month.
type date struct {
	year  int
	month time.Month
	day   int
}

// The lists of reference.txt that name dates: the months from January, their short names, and the words in front of a
// whole month.
const (
	months      = "MONTHS"
	shortMonths = "SHORT"
	inAMonth    = "IN"
)

// dayIn returns when a sentence says that something was, as dayName has it, or "": in the language in which it refers,
// or else in several words of another, as in "what did I say letzten Mittwoch". "Hier" alone is yesterday in French.
// Of several days the one that reference.txt names last decides: "the day before yesterday" comes after "yesterday".
func (ex *examples) dayIn(words []string, of *language) (ago string) {
	text := " " + strings.Join(words, " ") + " "
	for _, l := range append([]*language{of}, ex.languages...) {
		for _, d := range l.days {
			if strings.Contains(text, " "+d.words+" ") && (l == of || strings.Contains(d.words, " ")) {
				ago = d.ago
			}
		}
		if ago != "" {
			return ago
		}
	}
	return ""
}

// cutDays takes the days out of a sentence in a script without spaces, where they stand within a phrase: "I on Tuesday
// said". It returns nil for other scripts.
func (ex *examples) cutDays(words []string) []string {
	text := " " + strings.Join(words, " ") + " "
	if !strings.ContainsFunc(text, isSpaceless) {
		return nil
	}
	for _, l := range ex.languages {
		for _, d := range slices.Backward(l.days) { // "last week's Tuesday" before "Tuesday"
			if first, _ := utf8.DecodeRuneInString(d.words); isSpaceless(first) {
				text = strings.Replace(text, " "+d.words+" ", " ", 1)
			}
		}
	}
	return strings.Fields(text)
}

// Days returns the beginning of the day, week or month that a reference names and its end, if it names one.
func (r Reference) Days(now time.Time, zone *time.Location) (from, to time.Time, named bool) {
	local := now.In(zone)
	year, month, day := local.Date()
	begins := func(month time.Month, day int) time.Time { return time.Date(year, month, day, 0, 0, 0, 0, zone) }
	count, unit, _ := strings.Cut(r.ago, "_")
	n, err := strconv.Atoi(count)
	days, sinceMonday := 1, (int(local.Weekday())+6)%7
	switch {
	case r.date.month != 0:
		return r.date.days(local, r.IsTopical)
	case unit == "month":
		return begins(month-time.Month(n), 1), begins(month-time.Month(n)+1, 1), true
	case unit == "week":
		n, days = sinceMonday+7*n, 7
	case err != nil:
		n, days = dayAgo(r.ago, sinceMonday)
	}
	return begins(month, day-n), begins(month, day-n+days), days > 0
}

// dayAgo returns how many days ago a day of the week was, the last one before today or that of the week before this
// one, and how many days a name names: one or none.
func dayAgo(name string, sinceMonday int) (ago, days int) {
	name, isOfWeek := strings.CutPrefix(name, "week_")
	for day := time.Sunday; day <= time.Saturday; day++ {
		if name == strings.ToLower(day.String()) {
			ago, days = (sinceMonday+7-int(day))%7+1, 1
			if isOfWeek && ago <= sinceMonday {
				ago += 7
			}
		}
	}
	return ago, days
}

// cutDate takes the first date out of a sentence's words: "21 January", "Jan 21st, 2026", "2026-01-21", "in January".
// Its month is 0 where the sentence names none. A phrase then has its words beside each other: "as we discussed, ...".
func (ex *examples) cutDate(words []string) ([]string, date) {
	for i := range words {
		if d := isoDate(words[i:]); d.month != 0 {
			return slices.Concat(words[:i], words[i+3:]), d
		}
		if d, n := eastDate(words[i:]); d.month != 0 {
			return slices.Concat(words[:i], words[i+n:]), d
		}
		for _, l := range ex.languages {
			if d, from, to := l.dateAround(words, i); d.month != 0 {
				return slices.Concat(words[:from], words[to:]), d
			}
		}
	}
	return words, date{}
}

// dateAround returns the date whose month is the word i, and the words that it takes: from the word from, before the
// word to. A month without a day is one only after a word such as "in": "may" and "march" are no months alone.
func (l *language) dateAround(words []string, i int) (d date, from, to int) {
	d.month = time.Month(l.month(words[i]))
	if d.month == 0 {
		return date{}, 0, 0
	}
	to = i + 1
	d.day, from = dayBefore(words[:i])
	if d.day == 0 && to < len(words) {
		if d.day = dayNumber(words[to]); d.day > 0 {
			to++
		}
	}
	if d.day == 0 {
		if i == 0 || !slices.Contains(l.lists[inAMonth], words[i-1]) {
			return date{}, 0, 0
		}
		from = i - 1
	}
	for n, word := range words[to:min(len(words), to+2)] {
		if year, err := strconv.Atoi(word); err == nil && len(word) == 4 {
			d.year, to = year, to+n+1
			break
		}
	}
	return d, from, to
}

// month returns the number of a month, by its name or its short name, or 0.
func (l *language) month(word string) int {
	if n := slices.Index(l.lists[months], word); n >= 0 {
		return n + 1
	}
	return slices.Index(l.lists[shortMonths], word) + 1
}

// isoDate reads the words of "2026-01-21".
func isoDate(words []string) date {
	at, err := time.Parse(time.DateOnly, strings.Join(words[:min(3, len(words))], "-"))
	if err != nil {
		return date{}
	}
	return date{at.Year(), at.Month(), at.Day()}
}

// eastDate reads the words of "2026年1月21日", "1月21日" or "1月", and returns how many these are.
func eastDate(words []string) (d date, n int) {
	if len(words) > 3 && words[1] == "年" {
		d.year, _ = strconv.Atoi(words[0])
		n = 2
	}
	if len(words) < n+2 || words[n+1] != "月" {
		return date{}, 0
	}
	month, _ := strconv.Atoi(words[n])
	d.month, n = time.Month(month), n+2
	if len(words) > n+1 && strings.Contains("日号", words[n+1]) {
		d.day, n = dayNumber(words[n]), n+2
	}
	return d, n
}

// dayBefore returns the day that is written before a month, and its place: "21", "21st of", "21 de". The day is 0
// where there is none.
func dayBefore(words []string) (day, at int) {
	last := len(words) - 1
	if last > 0 && slices.Contains([]string{"of", "de", "di"}, words[last]) {
		last--
	}
	if last < 0 {
		return 0, len(words)
	}
	if day = dayNumber(words[last]); day == 0 {
		return 0, len(words)
	}
	return day, last
}

// dayNumber returns the day of a month that a word says, as "21", "21st" or "1er", or 0.
func dayNumber(word string) int {
	digits := strings.TrimRight(word, "abcdefghijklmnopqrstuvwxyz")
	day, err := strconv.Atoi(digits)
	if err != nil || day < 1 || day > 31 || len(word)-len(digits) > 2 {
		return 0
	}
	return day
}

// days returns the beginning and the end of a date. Without its year, it is the last one in a sentence without a topic,
// and else the nearest one. One that is ahead is not named, because nothing was said then: "the race on 12 May".
func (d date) days(now time.Time, isTopical bool) (from, to time.Time, named bool) {
	year := d.year
	begin := func() time.Time { return time.Date(year, d.month, max(d.day, 1), 0, 0, 0, 0, now.Location()) }
	if year == 0 {
		const halfAYear = 183 * 24 * time.Hour
		year = now.Year()
		switch ahead := begin().Sub(now); {
		case ahead > halfAYear, ahead > 0 && !isTopical:
			year--
		case ahead < -halfAYear && isTopical:
			year++
		}
	}
	from = begin()
	if to = from.AddDate(0, 0, 1); d.day == 0 {
		to = from.AddDate(0, 1, 0)
	}
	return from, to, from.Month() == d.month && from.Before(now)
}
