package choose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/calendar"
)

const (
	// leastLines is how many conversations a timeline has at least: the messages that were found show what fewer have.
	leastLines = 3
	// touchesShare is the share of the best hit's probability that a conversation has to reach. userShare is that of the
	// assistant's message for which the user's own stands in its place.
	touchesShare, userShare = 0.05, 0.25
)

// chooseTimeline chooses a line for each conversation of a day that touches what the message asks for, if it asks for
// what was said over many conversations. The line is a part of the conversation's closest message, rather one of the
// user. The best messages alone do not say what came first, or how often.
func chooseTimeline(c *chooser, slot *Slot) []*Candidate {
	if !c.Overview {
		return nil
	}
	var lines []*Candidate
	known, best := map[string]int{}, 0.0 // the line of a talk
	for _, hit := range messageHits(c) { // the best first
		if hit.irrelevant || c.claims[hit.key()] == block.Recent || hit.Score < best*touchesShare {
			continue
		}
		best = max(best, hit.Score)
		talk := hit.SessionID + " " + calendar.ISO(hit.At, c.Zone)
		i, isKnown := known[talk]
		switch {
		case !isKnown:
			known[talk] = len(lines)
			lines = append(lines, hit.Candidate)
		case hit.Role == conversation.RoleUser && lines[i].Role != hit.Role && hit.Score >= lines[i].Score*userShare:
			lines[i] = hit.Candidate
		}
	}
	if len(lines) < leastLines {
		return nil
	}
	for _, e := range capItems(lines, slot) {
		e.Label = calendar.Date(e.At, c.Zone) + ", " + talkPlace(c, e) + ", " + strings.ToLower(SpeakerName(e.Role))
		e.Why = "the message asks for what was said over time, and the search found this conversation"
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
