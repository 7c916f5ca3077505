package choose

import (
	"cmp"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/word"
)

// referencedMessages returns the last messages of the conversation with this coach that the message refers back to, if
// it does: of the days that it names, if it names some.
func referencedMessages(c *chooser, slot *Slot) []*Candidate {
	if !c.Reference.Refers {
		return nil
	}
	var messages []*conversation.Message
	if from, to, named := c.Reference.Days(c.Now, c.Zone); named {
		messages = ofNamedDays(c, from, to)
	} else {
		said := ofReferencedSession(c)
		messages = slices.Clone(said[max(len(said)-referencedCount, 0):])
		slices.Reverse(messages)
	}
	var candidates []*Candidate
	for _, m := range messages {
		e := claimHit(c, messageCandidate(m), slot.Block)
		e.Why = "the message refers back to this conversation"
		candidates = append(candidates, e)
	}
	return candidates
}

// ofNamedDays returns the last messages, at most six of a session, that were said with this coach on the days that the
// message names. Greetings and thanks are left out. A message with a topic means one session: the newest among those
// that the search finds close to the message or, if it finds none, the newest that had messages then. One without a
// topic means all sessions: the last message of each comes first, then the one before it, so that a small prompt has
// the end of each. This session, which may have begun before, is the last of them.
func ofNamedDays(c *chooser, from, to time.Time) (messages []*conversation.Message) {
	said := map[string][]*conversation.Message{}
	var sessions []string
	for _, m := range slices.Backward(knownMessages(c)) {
		if m.CoachID != c.CoachID && m.SessionID != c.Session.ID || m.Timestamp.Before(from) ||
			!m.Timestamp.Before(to) || word.IsCourtesy(m.Content) {
			continue
		}
		if said[m.SessionID] == nil {
			sessions = append(sessions, m.SessionID)
		}
		said[m.SessionID] = append(said[m.SessionID], m)
	}
	if i := slices.Index(sessions, c.Session.ID); i >= 0 {
		sessions = append(slices.Delete(sessions, i, i+1), c.Session.ID)
	}
	if c.Reference.HasTopic && len(sessions) > 0 {
		sessions = []string{cmp.Or(closest(c, sessions), sessions[0])}
	}
	for i := range referencedCount {
		for _, id := range sessions {
			if i < len(said[id]) {
				messages = append(messages, said[id][i])
			}
		}
	}
	return messages
}

// knownMessages returns all messages that were read or found, oldest first, each once.
func knownMessages(c *chooser) []*conversation.Message {
	all := slices.Concat(c.Timeline, c.Referenced)
	for _, h := range c.Hits {
		if h.Message != nil {
			all = append(all, h.Message)
		}
	}
	all = slices.DeleteFunc(all, func(m *conversation.Message) bool { return !c.Recalls(m.Context) })
	slices.SortStableFunc(all, func(a, b *conversation.Message) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(all, func(a, b *conversation.Message) bool { return a.ID == b.ID })
}

// ofReferencedSession returns the messages of the session that a message without a day refers to. A message without a
// topic refers to the newest session that has messages. A topic refers to the newest session among those that the
// search finds close to the message or, if it finds none, the newest with words of it. If there is none, and the
// topic is not of the reference's own sentence, it is the newest session again.
func ofReferencedSession(c *chooser) []*conversation.Message {
	var sessions []string
	for i := range c.Sessions {
		if s := &c.Sessions[i]; gather.HasMessages(s) && c.Recalls(s.Context) {
			sessions = append(sessions, s.ID)
		}
	}
	id := ""
	if c.Reference.HasTopic {
		id = cmp.Or(closest(c, sessions), unlistedSession(c), sharesWords(c, sessions))
	}
	if id == "" && !c.Reference.IsTopical && len(sessions) > 0 {
		id = sessions[0]
	}
	if id == "" {
		return nil
	}
	if own := c.BySession[id]; len(own) > 0 {
		return own
	}
	return slices.DeleteFunc(knownMessages(c), func(m *conversation.Message) bool { return m.SessionID != id })
}

// closest returns the first of sessions that the search finds close to the message, or nothing.
func closest(c *chooser, sessions []string) string {
	scores, top := sessionScores(c)
	for _, id := range sessions {
		if score, found := scores[id]; found && score >= top/2 {
			return id
		}
	}
	return ""
}

// unlistedSession returns this coach's session of the newest hit that is close to the message, for a session older than
// those that the store lists.
func unlistedSession(c *chooser) string {
	scores, top := sessionScores(c)
	var newest conversation.Message
	for _, h := range c.Hits {
		if m := h.Message; m != nil && m.CoachID == c.CoachID && m.SessionID != c.Session.ID &&
			scores[m.SessionID] >= top/2 && m.Timestamp.After(newest.Timestamp) {
			newest = *m
		}
	}
	return newest.SessionID
}

// sharesWords returns the first of sessions with a message that has keywords of the current one, or nothing.
func sharesWords(c *chooser, sessions []string) string {
	topic := query.Topic(c.Message)
	for _, id := range sessions {
		if slices.ContainsFunc(c.BySession[id], func(m *conversation.Message) bool {
			return query.Shares(topic, m.Content)
		}) {
			return id
		}
	}
	return ""
}
