package prompt

import (
	"cmp"
	"math"
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

// told is the key under which a message is told once.
func told(id string) telling { return telling{kindMessage, id} }

// chooseRecent tells the session's own last messages, as its scoping strategy chooses them; the newest are the last to
// go.
func chooseRecent(v *view, s *Slot) []*entry {
	chosen, _ := v.scope()
	var entries []*entry
	for i, m := range slices.Backward(chosen) {
		v.use(told(m.ID), s.Block)
		e := messageEntry(m)
		e.place = i
		entries = append(entries, capChars(e, s.Cap))
	}
	return capItems(entries, s)
}

// scope are the session's own messages that the recipe's strategy chooses, and what stands for the older ones.
func (v *view) scope() (chosen []*conversation.Message, older string) {
	return v.recipe.strategy().SelectMessages(v.own, ScopingConfig{
		MaxMessages: v.agent.Messages, MaxTokens: v.budget.tokens / 2, Relevant: v.agent.Relevant, Summary: v.session.Summary,
	})
}

const (
	// relevantChars is how much of a message from elsewhere is told.
	relevantChars = 600
	// memoryHalfLife is how fast relevance falls with age, down to a share that what is old keeps: a fact from last
	// year still answers a question about last year.
	memoryHalfLife = 30 * 24 * time.Hour
	oldShare       = 0.6
	// leastShare is the part of the best score below which a message has nothing to do with the current one: a short
	// history's search answers with all of it.
	leastShare = 0.15
	// leastScore is about what the vectors of two texts come to that have nothing in common.
	leastScore = 0.05
	// standsOut is that part for a message that a transcript tells in its place.
	standsOut = 0.5
	// referenced is how many messages of the session that the user refers to are told.
	referenced = 6
)

// fade lowers a score with age.
func fade(score float64, age time.Duration) float64 {
	if age < 0 {
		age = 0
	}
	return score * (oldShare + (1-oldShare)*math.Exp2(-float64(age)/float64(memoryHalfLife)))
}

// chooseMessages tells messages and check-in notes from elsewhere: first those of the session that the user refers to
// ("as we said"), whatever their rank, then the search's hits in the contexts that this one reads, as far as they have
// to do with the message.
func chooseMessages(v *view, s *Slot) []*entry {
	entries := append(v.referredTo(s), v.nearby(s)...)
	entries = capItems(entries, s)
	for _, e := range entries {
		e.label = v.whose(e)
		capChars(e, s.Cap)
	}
	placeByTime(entries)
	return entries
}

// nearby are the search's hits, best first, without what the block tells already; those too far behind the best one that
// nothing else tells are out.
func (v *view) nearby(s *Slot) []*entry {
	hits := v.elsewhere()
	slices.SortStableFunc(hits, func(a, b *entry) int { return cmp.Compare(b.score, a.score) })
	best := 0.0
	var entries []*entry
	for _, e := range hits {
		by, taken := v.used[e.key()]
		if by == s.Block {
			continue // what the user refers to stands there already
		}
		entries = append(entries, e)
		if !taken && (e.score < leastScore || e.score < best*v.share(e)) {
			e.out(notRelevant)
			continue
		}
		if v.once(e, e.key(), s.Block); !taken {
			best = max(best, e.score)
		}
	}
	return entries
}

// share is the part of the best score that a message needs to be told as relevant.
func (v *view) share(e *entry) float64 {
	transcript := slices.ContainsFunc(v.bySession[e.sessionID], func(m *conversation.Message) bool { return m.ID == e.id })
	if !transcript || !v.recipe.has(blockThread) || v.tierOf(e.sessionID) > tierToday {
		return leastShare
	}
	return standsOut
}

// notRelevant is the reason of what the search found too far from the message.
const notRelevant = "not relevant enough"

// key is what a message or a note is told once by.
func (e *entry) key() telling { return telling{e.kind, e.id} }

// elsewhere are the hits that are messages or notes, with faded scores.
func (v *view) elsewhere() []*entry {
	var entries []*entry
	for _, h := range v.hits {
		switch {
		case h.Message != nil && v.reads(h.Message.Context):
			e := messageEntry(h.Message)
			e.score = fade(h.Value(), v.now.Sub(h.Message.Timestamp))
			entries = append(entries, e)
		case h.CheckIn != nil:
			entries = append(entries, &entry{
				kind: "check_in", id: h.CheckIn.ID, at: h.CheckIn.Timestamp, role: conversation.User, text: h.CheckIn.Note,
				tokens: h.CheckIn.Tokens, score: fade(h.Value(), v.now.Sub(h.CheckIn.Timestamp)),
			})
		}
	}
	return entries
}

// reads reports whether what a context writes matters in this one: its own, and those that its registry entry names.
func (v *view) reads(context string) bool {
	if context == v.Context {
		return true
	}
	from, err := conversation.SurfaceOf(context)
	return err == nil && slices.Contains(v.surface.Reads, from.Writes)
}

// whose says where, when and by whom something was said.
func (v *view) whose(e *entry) string {
	if e.kind == "check_in" {
		return "Check-in - " + conversation.Age(e.at, v.now, v.place)
	}
	return label(e.context) + " - " + conversation.Age(e.at, v.now, v.place) + ", " + speaker(e.role)
}

// placeByTime lets entries stand in the order in which they were said.
func placeByTime(entries []*entry) {
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b *entry) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	})
	for i, e := range sorted {
		e.place = i
	}
}

// referredTo tells the last messages of the newest related session where the message refers back to one.
func (v *view) referredTo(s *Slot) []*entry {
	if !RefersBack(v.Message) {
		return nil
	}
	related, ok := v.related()
	if !ok {
		return nil
	}
	messages := v.bySession[related]
	if len(messages) == 0 {
		messages = v.hitsOf(related)
	}
	var entries []*entry
	for _, m := range slices.Backward(messages[max(len(messages)-referenced, 0):]) {
		e := v.once(messageEntry(m), told(m.ID), s.Block)
		e.why = "the message refers back to this conversation"
		entries = append(entries, e)
	}
	return entries
}

// related is the newest other session among those that the search finds near to the message, or the newest of all
// where it finds none, or where the message says nothing but that it points back: then the words of that are no topic.
// Where the message names a day on which there were sessions, it is one of them. Sessions that the store lists are newer
// than those that it doesn't.
func (v *view) related() (string, bool) {
	sessions := v.ofNamedDay()
	named := len(sessions) > 0
	if !named {
		sessions = v.sessions
	}
	if len(sessions) > 0 && !besidesReference(v.Message) {
		return sessions[0].ID, true
	}
	best, top := v.sessionScores()
	for _, s := range sessions {
		if score, found := best[s.ID]; found && score >= top/2 {
			return s.ID, true
		}
	}
	if id := v.unlisted(best, top/2); id != "" && !named {
		return id, true
	}
	if len(sessions) > 0 {
		return sessions[0].ID, true
	}
	return "", false
}

// ofNamedDay are the sessions of the day or week that the message names, latest first.
func (v *view) ofNamedDay() []conversation.Session {
	least, most, named := daysNamed(v.Message, v.now.In(v.place).Weekday())
	if !named {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.sessions), func(s conversation.Session) bool {
		days := conversation.CalendarDays(s.LastMessageAt, v.now, v.place)
		return days < least || days > most
	})
}

// unlisted is this coach's session of the newest message that the search found with such a score, where the session is
// older than those that the store lists.
func (v *view) unlisted(best map[string]float64, least float64) string {
	var newest conversation.Message
	for _, h := range v.hits {
		if m := h.Message; m != nil && m.CoachID == v.CoachID && m.SessionID != v.session.ID &&
			best[m.SessionID] >= least && m.Timestamp.After(newest.Timestamp) {
			newest = *m
		}
	}
	return newest.SessionID
}

// hitsOf are the messages of a session that the search found, oldest first.
func (v *view) hitsOf(sessionID string) []*conversation.Message {
	var messages []*conversation.Message
	for _, h := range v.hits {
		if h.Message != nil && h.Message.SessionID == sessionID {
			messages = append(messages, h.Message)
		}
	}
	slices.SortFunc(messages, func(a, b *conversation.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return messages
}
