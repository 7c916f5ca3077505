package choose

import (
	"cmp"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/query"
)

// chooseRecent chooses the session's own last messages, as its scoping strategy chooses them, newest first.
func chooseRecent(c *chooser, slot *Slot) []*Candidate {
	chosen, _ := c.scope()
	var candidates []*Candidate
	for i, m := range slices.Backward(chosen) {
		c.claim(messageKey(m.ID), slot.Block)
		e := messageCandidate(m)
		e.Position = i
		candidates = append(candidates, capChars(e, slot))
	}
	return capItems(candidates, slot)
}

const (
	// RelevantChars is how many characters of a message from elsewhere are included.
	RelevantChars = 600
	// transcriptShare is the share of the best probability that a message needs if a transcript may have it too. About
	// the seven best messages of a question have it.
	transcriptShare = 0.1
	// referencedCount is how many messages of the session that the user refers to are included.
	referencedCount = 6
)

// chooseRelevantMessages chooses messages and check-in notes from elsewhere. First are those of the session that the
// user refers to ("as we said"), whatever their score, then the relevant hits in the contexts that this one reads.
func chooseRelevantMessages(c *chooser, slot *Slot) []*Candidate {
	candidates := append(referencedMessages(c, slot), relevantHits(c, slot)...)
	candidates = capItems(candidates, slot)
	for _, e := range candidates {
		e.Label = attribution(c, e)
		capChars(e, slot)
	}
	positionByTime(candidates)
	return candidates
}

// relevantHits returns the search's hits, best first, without what the block has already. It leaves out those that no
// block has claimed and that are irrelevant, or that a transcript would have and that are not far better than others.
func relevantHits(c *chooser, slot *Slot) []*Candidate {
	hits := messageHits(c)
	slices.SortStableFunc(hits, func(a, b found) int { return cmp.Compare(b.Score, a.Score) })
	best := 0.0
	var candidates []*Candidate
	for _, hit := range hits {
		e := hit.Candidate
		by, taken := c.claims[e.key()]
		if by == slot.Block {
			continue // it has what the user refers to already
		}
		candidates = append(candidates, e)
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
}

// messageHits returns the hits that are messages or notes.
func messageHits(c *chooser) []found {
	var hits []found
	for _, h := range c.Hits {
		var e *Candidate
		switch {
		case h.Message != nil && c.Reads(h.Message.Context):
			e = messageCandidate(h.Message)
		case h.CheckIn != nil:
			e = &Candidate{
				Kind: "check_in", ID: h.CheckIn.ID, At: h.CheckIn.Timestamp, Role: conversation.RoleUser, Text: h.CheckIn.Note,
				Tokens: h.CheckIn.Tokens,
			}
		default:
			continue
		}
		e.Score, e.Features = h.Value(), h.Contributions
		hits = append(hits, found{e, h.Irrelevant})
	}
	return hits
}

// attribution says where, when and by whom something was said, and with whom if it was another coach.
func attribution(c *chooser, e *Candidate) string {
	if e.Kind == "check_in" {
		return "Check-in - " + conversation.Age(e.At, c.Now, c.Zone)
	}
	return ContextLabel(e.Context) + c.withCoach(e.CoachID) + " - " +
		conversation.Age(e.At, c.Now, c.Zone) + ", " + SpeakerName(e.Role)
}

// referencedMessages returns the last messages of the session that the message refers back to, if it does: of the day
// that it names, if it names one.
func referencedMessages(c *chooser, slot *Slot) []*Candidate {
	ref, refers := query.FindReference(c.Message)
	if !refers {
		return nil
	}
	related, ok := referencedSession(c, ref)
	if !ok {
		return nil
	}
	messages := c.BySession[related]
	if len(messages) == 0 {
		messages = messagesOfHits(c, related)
	}
	if ofDay := messagesOfDay(c, ref, messages); len(ofDay) > 0 {
		messages = ofDay
	}
	var candidates []*Candidate
	for _, m := range slices.Backward(messages[max(len(messages)-referencedCount, 0):]) {
		e := claimHit(c, messageCandidate(m), slot.Block)
		e.Why = "the message refers back to this conversation"
		candidates = append(candidates, e)
	}
	return candidates
}

// referencedSession returns the newest other session among those that the search finds close to the message. If the
// search finds none, or the message has no words beside the reference, it returns the newest session of all. If the
// message names a day that had sessions, it returns one of them. Sessions that the store lists are newer than those it
// does not list.
func referencedSession(c *chooser, ref query.Reference) (string, bool) {
	sessions := sessionsOfNamedDay(c, ref)
	named := len(sessions) > 0
	if !named {
		sessions = c.Sessions
	}
	if len(sessions) > 0 && !ref.HasTopic {
		return sessions[0].ID, true
	}
	best, top := sessionScores(c)
	for _, s := range sessions {
		if score, found := best[s.ID]; found && score >= top/2 {
			return s.ID, true
		}
	}
	if id := unlistedSession(c, best, top/2); id != "" && !named {
		return id, true
	}
	if len(sessions) > 0 {
		return sessions[0].ID, true
	}
	return "", false
}

// sessionsOfNamedDay returns the sessions with messages of the day or week that a reference names, latest first. The
// current session, which may have begun before, is the last of them.
func sessionsOfNamedDay(c *chooser, ref query.Reference) []conversation.Session {
	return slices.DeleteFunc(append(slices.Clone(c.Sessions), c.Session), func(s conversation.Session) bool {
		return len(messagesOfDay(c, ref, c.BySession[s.ID])) == 0 &&
			(s.ID == c.Session.ID || !ref.Covers(s.LastMessageAt, c.Now, c.Zone))
	})
}

// messagesOfDay returns the messages of the day or week that a reference names.
func messagesOfDay(c *chooser, ref query.Reference, messages []*conversation.Message) []*conversation.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m *conversation.Message) bool {
		return !ref.Covers(m.Timestamp, c.Now, c.Zone)
	})
}

// unlistedSession returns this coach's session of the newest hit with at least that score, for a session older than
// those that the store lists.
func unlistedSession(c *chooser, best map[string]float64, least float64) string {
	var newest conversation.Message
	for _, h := range c.Hits {
		if m := h.Message; m != nil && m.CoachID == c.CoachID && m.SessionID != c.Session.ID &&
			best[m.SessionID] >= least && m.Timestamp.After(newest.Timestamp) {
			newest = *m
		}
	}
	return newest.SessionID
}

// messagesOfHits returns the messages of a session that the search found, oldest first.
func messagesOfHits(c *chooser, sessionID string) []*conversation.Message {
	var messages []*conversation.Message
	for _, h := range c.Hits {
		if h.Message != nil && h.Message.SessionID == sessionID {
			messages = append(messages, h.Message)
		}
	}
	slices.SortFunc(messages, func(a, b *conversation.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return messages
}
