package prompt

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/untrusted"
)

// What the tests read back with.
var (
	Clean   = untrusted.Clean
	OneLine = oneLine
	Excerpt = excerpt
	Unguard = unguardLines

	BreakTokens = untrusted.BreakTokens

	Persona        = persona
	HasVisibleText = hasVisibleText

	IsBoundary = isBoundary
)

// The formats and styles that the tests read back.
var (
	Markdown       = markdown
	PlainText      = plainText
	Tagged         = tagged
	SystemMessages = systemMessages

	Bullet     = bullet
	Numbered   = numberedTitle
	Labelled   = labelled
	Attributed = attributed
	Transcript = transcriptLine
)

// ActivityHeading is the heading of recent_activity.
const ActivityHeading = activityHeading

// RefersBack reports whether a message refers to an earlier conversation.
func RefersBack(message string) bool {
	_, refers := findReference(message)
	return refers
}

// Sitting is a sitting as the tests see it.
type Sitting struct {
	Messages    []*conversation.Message
	First, Last time.Time
	// Full is set if the sitting is told in full, InThread if it belongs to the thread.
	Full, InThread bool
}

// Divide divides the messages of sessions, of which the first is that of the current message, said now. It returns the
// sittings of each session, and those of the tiers that are told in full in the order in which told returns them.
func Divide(sessions []conversation.Session, messages map[string][]*conversation.Message, now time.Time) (
	all map[string][]Sitting, thread, today []Sitting, edge time.Time,
) {
	h := history{now: now, zone: time.UTC, sessions: sessions}
	h.divide(messages, now)
	convert := func(from []*sitting) []Sitting {
		var out []Sitting
		for _, s := range from {
			out = append(out, Sitting{s.messages, s.first, s.last, s.tier.isFull(), s.inThread})
		}
		return out
	}
	all = map[string][]Sitting{}
	for id, sittings := range h.sittings {
		all[id] = convert(sittings)
	}
	return all, convert(h.told(tierThread)), convert(h.told(tierToday)), h.thread.edge
}
