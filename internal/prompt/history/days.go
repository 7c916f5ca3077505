package history

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// HasDays reports whether a session is of several days and has summaries of its days, which are then used instead. The
// summary of the whole session would put what was said weeks ago under its last day.
func HasDays(s *conversation.Session, zone *time.Location) bool {
	return s.Summary != nil && len(s.Summary.Days) > 0 && s.SpansDays(zone)
}

// remainingDays returns the days of a session that a prompt does not have in full. Of the day on which the messages in
// full begin it is what was said before them.
func (h *History) remainingDays(s *conversation.Session) []Remainder {
	before := h.lastBeforeFull(s)
	var days []Remainder
	for i := range s.Summary.Days {
		d := &s.Summary.Days[i]
		last := d.To
		if !before.IsZero() && before.Before(last) {
			last = before
		}
		if h.DayTier(d.To) != NoTier && !last.Before(d.From) {
			days = append(days, Remainder{Session: s, Last: last, Day: d})
		}
	}
	return days
}

// lastBeforeFull is the last message of a session before those that a prompt has in full, or the latest time that it
// may have where it was not read. It is zero if the prompt has none in full.
func (h *History) lastBeforeFull(s *conversation.Session) time.Time {
	all := h.bySession[s.ID]
	first := slices.IndexFunc(all, func(x *Sitting) bool { return x.Tier.IsFull() })
	switch {
	case first < 0:
		return time.Time{}
	case first > 0:
		return all[first-1].Last
	}
	return all[0].First.Add(-time.Millisecond)
}
