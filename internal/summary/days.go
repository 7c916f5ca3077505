package summary

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

const (
	// keptDays is how many days back a session's days are kept: those that prompts tell (conversation-context-engine,
	// "Tiered context builder"), and one more, because a user who travels has another local day.
	keptDays = 8
	// maxDayChars limits the text of one day. The days are in the session's record, which each append writes.
	maxDayChars = 300
)

// isKept reports whether the day of a time is near enough to be summarised on its own.
func (in input) isKept(at time.Time) bool {
	return conversation.CalendarDays(at, in.now, in.zone) <= keptDays
}

func (in input) isSameDay(a, b time.Time) bool { return conversation.CalendarDays(a, b, in.zone) == 0 }

// firstDay returns the input cut at the end of its first day, so that one answer of the model says what the session and
// what its day came to. Days that are too old to be kept are one. The input is not cut where a fallback summary covers
// more already: a summary that covers less would not replace it. whole is then what it was cut from.
func (in input) firstDay(session conversation.Session, messages []conversation.Message) input {
	for i, m := range messages {
		if i == len(messages)-1 || m.Seq >= in.through.Seq {
			break
		}
		if next := messages[i+1].Timestamp; !in.isKept(next) || in.isSameDay(m.Timestamp, next) {
			continue
		}
		if session.Summary != nil && session.Summary.CoveredThrough > m.Seq {
			break
		}
		cut := in
		cut.whole = &in
		cut.through = conversation.Watermark{Seq: m.Seq, At: m.Timestamp}
		cut.lines = slices.DeleteFunc(slices.Clone(in.lines), func(l Line) bool { return l.Seq > m.Seq })
		return cut
	}
	return in
}

// uncut is the input before it was cut at the end of a day.
func (in input) uncut() input {
	if in.whole != nil {
		return *in.whole
	}
	return in
}

// isOfOneDay reports whether no day of the session needs a text of its own: the summary says what its only day came to,
// or the last day is too old to be kept.
func (in input) isOfOneDay() bool {
	lines := in.lastDay()
	switch {
	case lines == nil:
		return true
	case len(lines) < len(in.lines):
		return false
	case in.previous == "":
		return len(in.days) == 0
	}
	return len(in.days) == 1 && in.days[0].Text == in.previous && in.isSameDay(in.days[0].To, lines[0].At)
}

// lastDay returns the lines of the last day, if it is kept.
func (in input) lastDay() []Line {
	n := len(in.lines)
	if n == 0 || !in.isKept(in.lines[n-1].At) {
		return nil
	}
	from := n - 1
	for from > 0 && in.isSameDay(in.lines[from-1].At, in.lines[n-1].At) {
		from--
	}
	return in.lines[from:]
}

// dayBefore is what the day of the last lines came to before them. It is empty where a fallback summary covers these
// very lines, of which the model makes a text of its own.
func (in input) dayBefore() string {
	if lines := in.lastDay(); lines != nil {
		if i := in.placeOf(in.days, lines[0].At); i >= 0 && in.days[i].From.Before(lines[0].At) {
			return in.days[i].Text
		}
	}
	return ""
}

func (in input) placeOf(days []conversation.DaySummary, at time.Time) int {
	return slices.IndexFunc(days, func(d conversation.DaySummary) bool { return in.isSameDay(d.To, at) })
}

// nextDays returns the session's days with those of the lines, oldest first. text is what the model says of the last
// one. The others, and one of which it says nothing, get the most informative sentences.
func (in input) nextDays(text string) []conversation.DaySummary {
	days := slices.Clone(in.days)
	rest := in
	for lines := in.lastDay(); lines != nil; lines, text = rest.lastDay(), "" {
		days = in.withDay(days, lines, text)
		rest.lines = rest.lines[:len(rest.lines)-len(lines)]
	}
	days = slices.DeleteFunc(days, func(d conversation.DaySummary) bool { return !in.isKept(d.To) })
	slices.SortFunc(days, func(a, b conversation.DaySummary) int { return a.From.Compare(b.From) })
	return days
}

// withDay adds lines of one day to the days. A text that covers the lines already stays, unless there is a new one.
func (in input) withDay(days []conversation.DaySummary, lines []Line, text string) []conversation.DaySummary {
	day := conversation.DaySummary{From: lines[0].At, To: lines[len(lines)-1].At, Text: text}
	i := in.placeOf(days, day.To)
	if i < 0 {
		if text == "" {
			day.Text = Extract("", lines, maxDayChars)
		}
		return append(days, day)
	}
	known := days[i]
	if known.From.Before(day.From) {
		day.From = known.From
	}
	if !known.To.Before(day.To) {
		day.To = known.To
		if text == "" {
			day.Text = known.Text
		}
	}
	if day.Text == "" {
		day.Text = Extract(known.Text, lines, maxDayChars)
	}
	days[i] = day
	return days
}

// countDays returns days with their tokens.
func (s *Service) countDays(days []conversation.DaySummary) []conversation.DaySummary {
	days = slices.Clone(days)
	for i := range days {
		days[i].Tokens = s.Tokens.Count(days[i].Text)
	}
	return days
}
