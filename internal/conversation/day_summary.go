package conversation

import "time"

// DaySummary is what one local day of a session came to. A session that is kept open for weeks has one for each of its
// latest days, so that a prompt can say what was said yesterday and what before that.
type DaySummary struct {
	// From and To are the times of the first and the last message that it covers.
	From time.Time `stored:"from"`
	To   time.Time `stored:"to"`
	Text string    `stored:"summary"`
	// Tokens is the length of Text in tokens, or 0 if it was not counted.
	Tokens int `stored:"tokens"`
}

// SpansDays reports whether a session's messages are of several local days. The summary of another one says all that
// its only day came to.
func (s Session) SpansDays(zone *time.Location) bool {
	return !s.StartedAt.IsZero() && CalendarDays(s.StartedAt, s.LastMessageAt, zone) > 0
}
