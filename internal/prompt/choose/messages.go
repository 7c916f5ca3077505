package choose

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/truncate"
)

// chooseRecent chooses the session's own last messages, as its scoping strategy chooses them, newest first.
func chooseRecent(c *chooser, slot *Slot) []*Candidate {
	chosen, _ := c.scope()
	var candidates []*Candidate
	for i, m := range slices.Backward(chosen) {
		c.claim(messageKey(m.ID), slot.Block)
		e := messageCandidate(m)
		e.Position, e.Files = i, c.files(m)
		candidates = append(candidates, capChars(e, slot))
	}
	return capItems(candidates, slot)
}

const (
	// RelevantChars is how many characters of a message from elsewhere are included.
	RelevantChars = 400
	// transcriptShare is the share of the best probability that a message needs if a transcript may have it too. About
	// the seven best messages of a question have it.
	transcriptShare = 0.1
	// referencedCount is how many messages of the conversation that the user refers to are included.
	referencedCount = 6
)

// chooseRelevantMessages chooses messages and check-in notes from elsewhere. First are those of the session that the
// user refers to ("as we said"), whatever their score, then the relevant hits of all contexts. What a context reads
// decides only whose summaries are told as recent activity.
func chooseRelevantMessages(c *chooser, slot *Slot) []*Candidate {
	candidates := append(referencedMessages(c, slot), relevantHits(c, slot)...)
	candidates = append(capItems(candidates, slot), withheld(c)...)
	groupByTalk(c, candidates)
	for _, e := range candidates {
		if e.Left == "" {
			capPassage(e, slot, c.Asked)
		}
		capChars(e, slot)
		correct(c, e)
	}
	positionByTalk(candidates)
	return candidates
}

// withheld says how much of what was read the user's preferences keep from this context, how much it does not recall,
// and how much has a secret, without a word of it.
func withheld(c *chooser) (out []*Candidate) {
	add := func(n int, id, reason string) {
		if n > 0 {
			out = append(out, (&Candidate{Kind: "withheld", ID: id}).leave(reason))
		}
	}
	n := c.Withheld
	add(n.Messages+n.Sessions+n.Memories, "preferences", fmt.Sprintf("the user's preferences keep %s, %s and %s of those "+
		"that were read from this context", calendar.Count(n.Messages, "message"), calendar.Count(n.Sessions, "session"),
		calendar.Count(n.Memories, "fact")))
	add(c.Unrecalled, "recalls", calendar.Count(c.Unrecalled, "message")+" of those that were read or found are of "+
		"contexts that this one does not recall")
	add(c.Secret, "secrets", "of those that were found, "+calendar.Count(c.Secret, "message")+" with a secret, such as a "+
		"password, may be told in its own session only")
	return out
}

// groupByTalk puts the messages of one session and day under one heading. Each is labelled with its speaker, and with
// its time where the day has several talks.
func groupByTalk(c *chooser, candidates []*Candidate) {
	groups, talks := map[string]*Group{}, map[string]int{}
	for _, e := range candidates {
		if e.Left != "" {
			continue
		}
		day := calendar.ISO(e.At, c.Zone)
		g := groups[e.SessionID+" "+day]
		if g == nil {
			g = &Group{
				Kind: e.Kind, ID: e.SessionID, SessionID: e.SessionID, Context: e.Context, Began: e.At, Date: day,
				Label: talkLabel(c, e), Listed: true,
			}
			groups[e.SessionID+" "+day] = g
			talks[day]++
		}
		if e.Group = g; e.At.Before(g.Began) {
			g.Began = e.At
		}
	}
	for _, e := range candidates {
		if e.Label = SpeakerName(e.Role); e.Group != nil && talks[e.Group.Date] > 1 {
			e.Label += " " + calendar.Clock(e.At, c.Zone)
		}
	}
}

// talkLabel says where and when something was said, and with whom if it was another coach.
func talkLabel(c *chooser, e *Candidate) string {
	return talkPlace(c, e) + " - " + calendar.AgeOrDate(e.At, c.Now, c.Zone)
}

// talkPlace says where something was said, and with whom if it was another coach.
func talkPlace(c *chooser, e *Candidate) string {
	if e.Kind == kindCheckIn {
		return "Check-in"
	}
	return ContextLabel(e.Context) + c.withCoach(e.CoachID)
}

// kindCheckIn is the kind of the notes of check-ins.
const kindCheckIn = "check_in"

// passageMarks is how many characters a passage leaves for what marks its ends.
const passageMarks = 2

// capPassage cuts a text that is too long for its block to the part that has most of the query's words, and notes where
// that is. A part at the beginning is left to capChars.
func capPassage(e *Candidate, slot *Slot, asked func() *rank.Query) {
	if slot.Chars <= passageMarks || len(truncate.Runes(e.Text, slot.Chars)) == len(e.Text) {
		return
	}
	from, to := asked().Passage(e.Text, slot.Chars-passageMarks)
	if from == 0 {
		return
	}
	before := utf8.RuneCountInString(e.Text[:from])
	e.Cut = fmt.Sprintf("cut to %d characters, from character %d on", slot.Chars, before+1)
	e.Text, e.Tokens = truncate.Part(e.Text, from, to), 0
}

// relevantHits returns the search's hits, best first, without what the block has already. It leaves out those that no
// block has claimed and that are irrelevant, or that a transcript would have and that are not far better than others.
func relevantHits(c *chooser, slot *Slot) []*Candidate {
	hits := messageHits(c)
	slices.SortStableFunc(hits, func(a, b found) int { return cmp.Compare(b.worth(), a.worth()) })
	hits = withQuestions(hits)
	best := 0.0
	var candidates []*Candidate
	for _, hit := range hits {
		e := hit.Candidate
		by, taken := c.claims[e.key()]
		if by == slot.Block {
			continue // it has what the user refers to already
		}
		candidates = append(candidates, e)
		if isEmptyAnswer(e) {
			e.leave(reasonReceipt)
			continue
		}
		if !taken && (hit.irrelevant || inTranscript(c, e) && e.Score < best*transcriptShare) {
			e.leave(reasonIrrelevant)
			continue
		}
		if claimHit(c, e, slot.Block); !taken {
			best = max(best, e.Score)
		}
	}
	return candidates
}

// claimHit claims a message for a block, unless packing decides which block has it, because a transcript in the stable
// prefix may.
func claimHit(c *chooser, e *Candidate, name string) *Candidate {
	inPrefix := c.Continues && inTranscript(c, e) && !c.isFreshMessage(e.SessionID, e.At)
	if inPrefix && c.claims[e.key()] == "" {
		return e
	}
	return c.claimCandidate(e, e.key(), name)
}

// inTranscript reports whether a transcript may have a message.
func inTranscript(c *chooser, e *Candidate) bool {
	return c.has(block.Thread) && c.History.HasInFull(e.SessionID, e.ID)
}

// reasonIrrelevant is the reason of a hit that is too far from the message.
const reasonIrrelevant = "not relevant enough"

// found is a candidate that the search found.
type found struct {
	*Candidate
	irrelevant bool
	seq        int
}

// Messages of up to shortTokens are ordered by their probability alone. One is not longer than longTokens, for a prompt
// has a passage of it.
const shortTokens, longTokens = 24, RelevantChars / 4

// worth is what a hit is worth to a budget.
func (f found) worth() float64 {
	return rank.Value(f.Score, min(max(f.Tokens, shortTokens), longTokens))
}

// messageHits returns the hits that are messages or notes.
func messageHits(c *chooser) []found {
	var hits []found
	for _, h := range c.Hits {
		var e *Candidate
		seq := 0
		switch {
		case h.Message != nil:
			e, seq = messageCandidate(h.Message), h.Message.Seq
		case h.CheckIn != nil:
			e = &Candidate{
				Kind: kindCheckIn, ID: h.CheckIn.ID, At: h.CheckIn.Timestamp, Role: conversation.RoleUser, Text: h.CheckIn.Note,
				Tokens: h.CheckIn.Tokens,
			}
		default:
			continue
		}
		e.Score, e.Features = h.Value(), h.Contributions
		hits = append(hits, found{e, h.Irrelevant, seq})
	}
	return hits
}
