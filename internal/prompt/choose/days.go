package choose

import (
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/prompt/history"
)

// dayKey identifies one day of a session, by its end. Its date would not do: after the user has moved to another time
// zone, two days of the old zone may have the same date.
func dayKey(s *conversation.Session, d *conversation.DaySummary) dedupeKey {
	return dedupeKey{"day", s.ID + "#" + conversation.FormatTime(d.To)}
}

// dayID names a day of a session in the manifest.
func dayID(c *chooser, s *conversation.Session, d *conversation.DaySummary) string {
	return s.ID + "#" + calendar.ISO(d.To, c.Zone)
}

// dedupedDay returns what a day of a session came to, left out if a more valuable block has it.
func dedupedDay(c *chooser, u history.Remainder, slot *Slot) *Candidate {
	e := c.summaryCandidate(u.Session, u.Last)
	e.ID, e.Text, e.Tokens = dayID(c, u.Session, u.Day), u.Day.Text, u.Day.Tokens
	e.Label, e.Fresh = ContextLabel(e.Context)+" - "+c.age(u.Last), c.isFresh(u.Day.To)
	if recentHas(c, u) && e.Left == "" {
		e.leave("repeats " + block.Recent)
	}
	return capChars(c.claimCandidate(e, dayKey(u.Session, u.Day), slot.Block), slot)
}

// recentHas reports whether recent_messages has a day of this session from its beginning.
func recentHas(c *chooser, u history.Remainder) bool {
	if u.Session.ID != c.Session.ID || !c.has(block.Recent) {
		return false
	}
	chosen, _ := c.scope()
	return len(chosen) > 0 && !chosen[0].Timestamp.After(u.Day.From)
}

// summaryGroup is the frame of a summary. That of a session of several days says since when it went on.
func summaryGroup(c *chooser, e *Candidate, u history.Remainder) *Group {
	g := &Group{
		Kind: e.Kind, ID: e.ID, SessionID: e.SessionID, Context: e.Context, Label: e.Label, Began: u.Session.StartedAt,
		Day: calendar.Label(u.Last, c.Now, c.Zone), Date: calendar.ISO(u.Last, c.Zone), To: calendar.Clock(u.Last, c.Zone),
	}
	switch {
	case u.Day != nil:
		g.Began, g.From = u.Day.From, calendar.Clock(u.Day.From, c.Zone)
	case isOfDays(c, u.Session, u.Last):
		g.Since = calendar.ISO(u.Session.StartedAt, c.Zone)
	}
	return g
}

// isOfDays reports whether a session began on a day before that of a time.
func isOfDays(c *chooser, s *conversation.Session, at time.Time) bool {
	return !s.StartedAt.IsZero() && conversation.CalendarDays(s.StartedAt, at, c.Zone) > 0
}

// since says since when a session goes on that began on a day before that of a time.
func (c *chooser) since(s *conversation.Session, at time.Time) string {
	if !isOfDays(c, s, at) {
		return ""
	}
	day, _, _ := strings.Cut(calendar.Day(s.StartedAt, c.Now, c.Zone), " (")
	return ", since " + day
}

// recentDaysOf are the days of a session within the window of recent activity.
func (c *chooser) recentDaysOf(s *conversation.Session) (days []*conversation.DaySummary) {
	if !history.HasDays(s, c.Zone) {
		return nil
	}
	for i := range s.Summary.Days {
		if d := &s.Summary.Days[i]; c.Now.Sub(d.To) <= gather.ActivityWindow {
			days = append(days, d)
		}
	}
	return days
}

// recentText is what a session came to: its summary or, if it is kept open, its days within the window of recent
// activity, so that nothing of weeks ago is under a label of yesterday.
func (c *chooser) recentText(s *conversation.Session) (text string, tokens int) {
	if !history.HasDays(s, c.Zone) {
		return s.Summary.Text, s.Summary.Tokens
	}
	var parts []string
	said := s.LastMessageAt // the candidate's label names this day already
	for _, d := range c.recentDaysOf(s) {
		part := d.Text
		if !calendar.IsSameDay(d.To, said, c.Zone) {
			part = calendar.Day(d.To, c.Now, c.Zone) + ": " + part
		}
		parts, said = append(parts, part), d.To
	}
	return strings.Join(parts, " "), 0
}

// claimDays claims the days of a session that are in recent activity.
func claimDays(c *chooser, sessionID, name string) {
	s := c.otherSession(sessionID)
	for _, d := range c.recentDaysOf(s) {
		c.claim(dayKey(s, d), name)
	}
}
