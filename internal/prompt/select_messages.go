package prompt

import (
	"cmp"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

func messageEntry(m *conversation.Message) *entry {
	return &entry{
		kind: kindMessage, id: m.ID, sessionID: m.SessionID, context: m.Context, at: m.Timestamp,
		role: m.Role, text: m.Content, tokens: m.Tokens,
	}
}

// scope returns the session's own messages that the strategy selects, and the text that stands for older ones.
func (sel *selection) scope() (chosen []*conversation.Message, older string) {
	config := sel.scopingConfig()
	config.Summary = sel.session.Summary
	return sel.strategy().SelectMessages(sel.ownMessages, config)
}

// selectRecent selects the session's own last messages, as its scoping strategy chooses them, newest first.
func selectRecent(sel *selection, slot *Slot) []*entry {
	chosen, _ := sel.scope()
	var entries []*entry
	for i, m := range slices.Backward(chosen) {
		sel.claim(messageKey(m.ID), slot.Block)
		e := messageEntry(m)
		e.position = i
		entries = append(entries, capChars(e, slot.Cap))
	}
	return capItems(entries, slot)
}

const (
	// relevantChars is how many characters of a message from elsewhere are included.
	relevantChars = 600
	// transcriptShare is the share of the best probability that a message needs if a transcript may have it too. About
	// the seven best messages of a question have it.
	transcriptShare = 0.1
	// referencedCount is how many messages of the session that the user refers to are included.
	referencedCount = 6
)

// selectMessages selects messages and check-in notes from elsewhere. First are those of the session that the user
// refers to ("as we said"), whatever their score, then the relevant hits in the contexts that this one reads.
func selectMessages(sel *selection, slot *Slot) []*entry {
	entries := append(referencedMessages(sel, slot), relevantHits(sel, slot)...)
	entries = capItems(entries, slot)
	for _, e := range entries {
		e.label = attribution(sel, e)
		capChars(e, slot.Cap)
	}
	positionByTime(entries)
	return entries
}

// relevantHits returns the search's hits, best first, without what the block has already. It drops those that no block
// has claimed and that are irrelevant, or that a transcript would have and that do not stand out.
func relevantHits(sel *selection, slot *Slot) []*entry {
	hits := messageHits(sel)
	slices.SortStableFunc(hits, func(a, b *entry) int { return cmp.Compare(b.score, a.score) })
	best := 0.0
	var entries []*entry
	for _, e := range hits {
		by, taken := sel.claims[e.key()]
		if by == slot.Block {
			continue // what the user refers to stands there already
		}
		entries = append(entries, e)
		if !taken && (e.irrelevant || inTranscript(sel, e) && e.score < best*transcriptShare) {
			e.drop(reasonIrrelevant)
			continue
		}
		if claimHit(sel, e, slot.Block); !taken {
			best = max(best, e.score)
		}
	}
	return entries
}

// claimHit claims a message for a block, unless a transcript in front may have it.
func claimHit(sel *selection, e *entry, block string) *entry {
	if toldInFront(sel, e) && sel.claims[e.key()] == "" {
		return e
	}
	return sel.claimEntry(e, e.key(), block)
}

// inTranscript reports whether a transcript may have a message.
func inTranscript(sel *selection, e *entry) bool {
	return sel.recipe.has(blockThread) && sel.history.tells(e.sessionID, e.id)
}

// reasonIrrelevant is the reason of a hit that is too far from the message.
const reasonIrrelevant = "not relevant enough"

// key is the dedupe key of a message or a note.
func (e *entry) key() dedupeKey { return dedupeKey{e.kind, e.id} }

// messageHits returns the hits that are messages or notes.
func messageHits(sel *selection) []*entry {
	var entries []*entry
	for _, h := range sel.hits {
		var e *entry
		switch {
		case h.Message != nil && sel.reads(h.Message.Context):
			e = messageEntry(h.Message)
		case h.CheckIn != nil:
			e = &entry{
				kind: "check_in", id: h.CheckIn.ID, at: h.CheckIn.Timestamp, role: conversation.RoleUser, text: h.CheckIn.Note,
				tokens: h.CheckIn.Tokens,
			}
		default:
			continue
		}
		e.score, e.features, e.irrelevant = h.Value(), h.Contributions, h.Irrelevant
		entries = append(entries, e)
	}
	return entries
}

// attribution says where, when and by whom something was said.
func attribution(sel *selection, e *entry) string {
	if e.kind == "check_in" {
		return "Check-in - " + conversation.Age(e.at, sel.now, sel.zone)
	}
	return contextLabel(e.context) + " - " + conversation.Age(e.at, sel.now, sel.zone) + ", " + speakerName(e.role)
}

// positionByTime puts entries in the order in which they were said.
func positionByTime(entries []*entry) {
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b *entry) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	})
	for i, e := range sorted {
		e.position = i
	}
}

// referencedMessages returns the last messages of the session that the message refers back to, if it does: of the day
// that it names, if it names one.
func referencedMessages(sel *selection, slot *Slot) []*entry {
	ref, refers := findReference(sel.Message)
	if !refers {
		return nil
	}
	related, ok := referencedSession(sel, ref)
	if !ok {
		return nil
	}
	messages := sel.bySession[related]
	if len(messages) == 0 {
		messages = messagesOfHits(sel, related)
	}
	if ofDay := ref.messagesOfDay(sel, messages); len(ofDay) > 0 {
		messages = ofDay
	}
	var entries []*entry
	for _, m := range slices.Backward(messages[max(len(messages)-referencedCount, 0):]) {
		e := claimHit(sel, messageEntry(m), slot.Block)
		e.includeReason = "the message refers back to this conversation"
		entries = append(entries, e)
	}
	return entries
}

// referencedSession returns the newest other session among those that the search finds close to the message. If the
// search finds none, or the message has no words beside the reference, it returns the newest session of all. If the
// message names a day that had sessions, it returns one of them. Sessions that the store lists are newer than those it
// does not list.
func referencedSession(sel *selection, ref reference) (string, bool) {
	sessions := sessionsOfNamedDay(sel, ref)
	named := len(sessions) > 0
	if !named {
		sessions = sel.sessions
	}
	if len(sessions) > 0 && !ref.hasTopic {
		return sessions[0].ID, true
	}
	best, top := sessionScores(sel)
	for _, s := range sessions {
		if score, found := best[s.ID]; found && score >= top/2 {
			return s.ID, true
		}
	}
	if id := unlistedSession(sel, best, top/2); id != "" && !named {
		return id, true
	}
	if len(sessions) > 0 {
		return sessions[0].ID, true
	}
	return "", false
}

// sessionsOfNamedDay returns the sessions with messages of the day or week that a reference names, latest first. The
// current session, which may have begun before, is the last of them.
func sessionsOfNamedDay(sel *selection, ref reference) []conversation.Session {
	return slices.DeleteFunc(append(slices.Clone(sel.sessions), sel.session), func(s conversation.Session) bool {
		return len(ref.messagesOfDay(sel, sel.bySession[s.ID])) == 0 &&
			(s.ID == sel.session.ID || !ref.covers(sel, s.LastMessageAt))
	})
}

// covers reports whether a reference names the day or week of a time.
func (r reference) covers(sel *selection, at time.Time) bool {
	least, most, named := r.daysAgo(sel.now.In(sel.zone).Weekday())
	days := conversation.CalendarDays(at, sel.now, sel.zone)
	return named && least <= days && days <= most
}

// messagesOfDay returns the messages of the day or week that a reference names.
func (r reference) messagesOfDay(sel *selection, messages []*conversation.Message) []*conversation.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m *conversation.Message) bool {
		return !r.covers(sel, m.Timestamp)
	})
}

// unlistedSession returns this coach's session of the newest hit with at least that score, for a session older than
// those that the store lists.
func unlistedSession(sel *selection, best map[string]float64, least float64) string {
	var newest conversation.Message
	for _, h := range sel.hits {
		if m := h.Message; m != nil && m.CoachID == sel.CoachID && m.SessionID != sel.session.ID &&
			best[m.SessionID] >= least && m.Timestamp.After(newest.Timestamp) {
			newest = *m
		}
	}
	return newest.SessionID
}

// messagesOfHits returns the messages of a session that the search found, oldest first.
func messagesOfHits(sel *selection, sessionID string) []*conversation.Message {
	var messages []*conversation.Message
	for _, h := range sel.hits {
		if h.Message != nil && h.Message.SessionID == sessionID {
			messages = append(messages, h.Message)
		}
	}
	slices.SortFunc(messages, func(a, b *conversation.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return messages
}
