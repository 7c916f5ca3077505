package choose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/calendar"
)

// leastLines is how many conversations a timeline has at least: the messages that were found show what fewer have.
const leastLines = 3

// chooseTimeline chooses a line for each conversation of a day that touches what the message asks for, if it asks for
// what was said over many conversations. The line is a part of the conversation's closest message. The best messages
// alone do not say what came first, or how often.
func chooseTimeline(c *chooser, slot *Slot) []*Candidate {
	if !c.Overview {
		return nil
	}
	var lines []*Candidate
	known := map[string]bool{}
	for _, hit := range messageHits(c) { // the best first
		talk := hit.SessionID + " " + calendar.ISO(hit.At, c.Zone)
		if hit.irrelevant || known[talk] || c.claims[hit.key()] == block.Recent {
			continue
		}
		known[talk] = true
		lines = append(lines, hit.Candidate)
	}
	if len(lines) < leastLines {
		return nil
	}
	for _, e := range capItems(lines, slot) {
		e.Label = calendar.Date(e.At, c.Zone) + ", " + talkPlace(c, e) + ", " + strings.ToLower(SpeakerName(e.Role))
		e.Why = "the message asks for what was said over time, and this conversation touches it"
		capPassage(e, slot, c.Asked)
		capChars(e, slot)
		correct(c, e)
		e.Kind = "line" // another block may have the message
	}
	byTime := slices.Clone(lines)
	slices.SortFunc(byTime, func(a, b *Candidate) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	for i, e := range byTime {
		e.Position = i
	}
	return lines
}
