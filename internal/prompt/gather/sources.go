package gather

import (
	"cmp"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/prompt/history"
	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/secret"
)

// Sources is what was read for one prompt, without what the user's preferences, the coach's scope and the messages'
// roles exclude. Nothing changes it once Gather has returned it.
type Sources struct {
	Now  time.Time
	Zone *time.Location
	// Session is the session of the current message, Context its context. CoachID is the persona of the prompt.
	Session          conversation.Session
	Context, CoachID string
	appContext       conversation.AppContext
	Access           longterm.Access
	// Message is the current message, MessageID its id if it is stored. MessageTokens is its count.
	// Current is the message as it is stored, or nil.
	Message, MessageID string
	MessageTokens      int
	Current            *conversation.Message

	// Own are the session's own messages that were read, Timeline those of all contexts. Both are oldest first, without
	// the current message and without system messages.
	Own, Timeline []*conversation.Message
	// Referenced are messages that the message refers back to and that Timeline may not have, oldest first.
	Referenced []*conversation.Message
	Reference  query.Reference
	// Asked returns what the message asks for. It is read once.
	Asked func() *rank.Query
	// Overview is set if the message asks for what was said over many conversations.
	Overview bool
	// BySession has the timeline's messages by session. ReadCounts counts all messages that were read of each session,
	// excluded ones too.
	BySession  map[string][]*conversation.Message
	ReadCounts map[string]int
	// Sessions are the other sessions of this coach, latest first.
	Sessions []conversation.Session
	// History divides what was read of this session and of Sessions into sittings and tiers.
	History *history.History
	// Unread says why not all messages of a session were read that the prompt should have, by session.
	Unread map[string]string

	// HasLongTerm is false if long-term memory could not be read. Snapshot has what may be used of it.
	HasLongTerm bool
	Snapshot    longterm.Snapshot
	// Lapsed are the pinned memories whose last day has passed and that had taken the place of another one, with that one
	// in their content: "3 mg until 20 November instead of 5 mg" does not say what holds on the 21st.
	Lapsed []longterm.Memory
	// Ended has what ended of that which a message said, by the message's id, and what ended last first.
	Ended map[string][]Ending
	// Past are all memories that ended and are known, those that ended last first.
	Past  []longterm.Memory
	Coach longterm.Coach
	// Hits are what the search found, best first.
	Hits    []recall.Hit
	origins map[string]origin
	// sessionOf has the session of each message that was read, where a memory has ended.
	sessionOf map[string]string

	// Withheld counts the messages, sessions and memories among what was read that the user's preferences keep from this
	// context.
	Withheld struct{ Messages, Sessions, Memories int }
	// Unrecalled counts the messages among what was read or found that this context does not recall: its prompts do not
	// find them, whatever they mean.
	Unrecalled int
	// Secret counts the messages that the search found and that have a secret, which only their own session may hear.
	Secret int
	// Degraded are the sources that are missing, Warnings say which bound ended a read, and Timings are how long each
	// source took, by its name.
	Degraded []recall.Degradation
	Warnings []string
	Timings  map[string]time.Duration
}

// Ending is a memory that ended, of a message. IsNamed says that the message may have said something else besides, so
// that a prompt has to name what ended, and that it may.
type Ending struct {
	longterm.Memory
	IsNamed bool
}

// newSources takes over the messages and sessions that may be used. complete adds the rest.
func newSources(plan *Plan, got *read) *Sources {
	src := &Sources{
		Now: plan.Now, Zone: plan.Zone, Session: got.session, Context: plan.Context,
		CoachID:    cmp.Or(plan.CoachID, got.session.CoachID),
		appContext: plan.AppContext, Access: got.access, Message: plan.Message, MessageID: plan.MessageID,
		Reference: got.reference, Overview: got.overview, Asked: got.asked,
		BySession: map[string][]*conversation.Message{}, ReadCounts: map[string]int{},
	}
	if src.Zone == nil {
		src.Zone = time.UTC
		if zone, err := calendar.Zone(got.access.Preferences.Timezone); err == nil {
			src.Zone = zone
		}
	}
	currentAt := src.addMessages(got)
	src.addSessions(got)
	src.divide(got, currentAt)
	return src
}

// complete adds long-term memory and the search's hits.
func (src *Sources) complete(got *read) {
	src.MessageTokens, src.origins, src.Unread = got.messageTokens, got.origins, got.unread
	src.Degraded, src.Warnings, src.Timings = got.degraded, got.warnings, got.timings
	src.Withheld.Sessions = got.withheldSessions
	src.addLongTerm(got.snapshot)
	src.addHits(got.hits)
	src.countUnrecalled(got.hits)
	if len(src.Past)+len(src.Ended) > 0 {
		src.addEvidence()
	}
}

// countUnrecalled counts the messages of Unrecalled and Secret, each once.
func (src *Sources) countUnrecalled(hits []recall.Hit) {
	messages := slices.Concat(src.Timeline, src.Referenced)
	for _, h := range hits {
		switch m := h.Message; {
		case m == nil:
		case src.mayShow(m):
			messages = append(messages, m)
		case m.IsSearched() && src.allowsSession(m.SessionID, m.Context) && !src.MayHear(m):
			src.Secret++
		}
	}
	ids := map[string]bool{}
	for _, m := range messages {
		if !src.Recalls(m.Context) {
			ids[m.ID] = true
		}
	}
	src.Unrecalled = len(ids)
}

// addLongTerm adds the long-term memory that the user allows.
func (src *Sources) addLongTerm(snapshot *longterm.Snapshot) {
	src.Coach = longterm.CoachOf(src.CoachID)
	if snapshot == nil {
		return
	}
	src.HasLongTerm, src.Snapshot = true, *snapshot
	if coach, ok := snapshot.Coaches[src.CoachID]; ok {
		src.Coach = coach
	}
	statements, now := map[string]int{}, src.Now.In(src.Zone)
	for _, m := range snapshot.Memories {
		m = m.WithEnd(now)
		switch {
		case m.Valid(now) && !src.allowsMemory(m):
			src.Withheld.Memories++
		case m.EndedReason != "" && !m.HeldAt(now):
			src.Past = append(src.Past, m)
		}
		for _, id := range m.MessageIDs {
			statements[id]++
		}
	}
	src.Lapsed = src.lapsed(snapshot.Memories)
	src.Snapshot.Memories = slices.DeleteFunc(slices.Clone(snapshot.Memories), func(m longterm.Memory) bool {
		return !src.allowsMemory(m)
	})
	src.addEndings(statements)
	src.Snapshot.Todos = slices.DeleteFunc(slices.Clone(snapshot.Todos), func(t longterm.Todo) bool {
		return !src.allowsTodo(t)
	})
}

// addEndings adds what ended of that which messages said, and what the app has changed of it. statements are how many
// memories are from each message.
func (src *Sources) addEndings(statements map[string]int) {
	slices.SortFunc(src.Past, func(a, b longterm.Memory) int {
		return cmp.Or(b.ValidUntil.Compare(a.ValidUntil), cmp.Compare(a.ID, b.ID))
	})
	src.Ended = map[string][]Ending{}
	for _, m := range src.Past {
		for _, id := range m.MessageIDs {
			isOther := statements[id] > 1 || len(m.MessageIDs) > 1
			src.Ended[id] = append(src.Ended[id], Ending{m, isOther && src.allowsOrigin(m)})
		}
	}
	for _, m := range src.Snapshot.Memories {
		if m.EditedAt.IsZero() {
			continue
		}
		said := longterm.Memory{EndedReason: longterm.EndedReplaced, SupersededBy: m.ID, ValidUntil: m.EditedAt}
		for _, id := range m.MessageIDs { // what they said is not known any more
			src.Ended[id] = append(src.Ended[id], Ending{said, false})
		}
	}
}

// IsFrom reports whether a memory was said in a session until a time. Where the session of its messages was not read,
// it was said before that time, and ended after it.
func (src *Sources) IsFrom(m longterm.Memory, sessionID string, until time.Time) bool {
	isKnown := false
	for _, id := range m.MessageIDs {
		from, known := src.sessionOf[id]
		if isKnown = isKnown || known; known && from == sessionID {
			return true
		}
	}
	return len(m.MessageIDs) > 0 && !isKnown && !m.Said().After(until) && until.Before(m.ValidUntil)
}

// shortAnswer is the length, in tokens, up to which an answer says nothing but what its question said: "24 it is."
const shortAnswer = 24

// addEvidence notes the sessions of the messages that were read, and that a short answer has ended with its question.
func (src *Sources) addEvidence() {
	src.sessionOf = map[string]string{}
	for id, from := range src.origins {
		src.sessionOf[id] = from.sessionID
	}
	messages := slices.Concat(src.Own, src.Timeline, src.Referenced)
	for _, h := range src.Hits {
		if h.Message != nil {
			messages = append(messages, h.Message)
		}
	}
	type place struct {
		session string
		seq     int
	}
	after := map[place][]Ending{}
	for _, m := range messages {
		src.sessionOf[m.ID] = m.SessionID
		if ended, ok := src.Ended[m.ID]; ok && m.Role == conversation.RoleUser {
			after[place{m.SessionID, m.Seq + 1}] = ended
		}
	}
	for _, m := range messages {
		ended, ok := after[place{m.SessionID, m.Seq}]
		if ok && m.Role == conversation.RoleAssistant && m.Tokens <= shortAnswer {
			src.Ended[m.ID] = ended
		}
	}
}

// lapsed returns the memories of Lapsed.
func (src *Sources) lapsed(memories []longterm.Memory) (out []longterm.Memory) {
	byID := make(map[string]longterm.Memory, len(memories))
	for _, m := range memories {
		byID[m.ID] = m
	}
	now := src.Now.In(src.Zone)
	for _, before := range memories {
		by, isReplaced := byID[before.SupersededBy]
		if !isReplaced || !before.Pinned || !src.allowsOrigin(before) || before.WouldBeOver(by, now) {
			continue
		}
		for range memories { // and not for ever where they replace each other
			next, isReplaced := byID[by.SupersededBy]
			if !isReplaced || !by.WouldBeOver(next, now) {
				break
			}
			by = next
		}
		if by.HasLapsed(now) && src.allowsOrigin(by) {
			by.Content, by.Tokens = by.Content+" (before that: "+before.Content+")", 0
			out = append(out, by)
		}
	}
	return out
}

// addMessages adds the messages that may be in the prompt, and returns the time of the current one.
func (src *Sources) addMessages(got *read) (currentAt time.Time) {
	current, stored := got.storedMessage(src.MessageID)
	currentAt = src.Now
	if stored {
		currentAt, src.Current = current.Timestamp, current
	}
	src.Timeline = make([]*conversation.Message, 0, len(got.timeline))
	for _, m := range got.timeline {
		src.ReadCounts[m.SessionID]++
		if src.mayShow(m) {
			src.Timeline = append(src.Timeline, m)
		} else if IsConversational(m.Role) && !src.allowsSession(m.SessionID, m.Context) {
			src.Withheld.Messages++
		}
	}
	for _, m := range got.referenced {
		if src.mayShow(m) {
			src.Referenced = append(src.Referenced, m)
		}
	}
	src.groupBySession()
	src.Own = slices.Clone(src.BySession[src.Session.ID])
	if got.tail != nil {
		src.Own = slices.DeleteFunc(slices.Clone(got.tail), func(m *conversation.Message) bool {
			return !IsConversational(m.Role) || !src.isBefore(m)
		})
	}
	slices.SortFunc(src.Own, func(a, b *conversation.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return currentAt
}

// mayShow reports whether a stored message may be in the prompt.
func (src *Sources) mayShow(m *conversation.Message) bool {
	return IsConversational(m.Role) && src.isBefore(m) && src.allowsSession(m.SessionID, m.Context) && src.MayHear(m)
}

// MayHear reports whether this session may hear of a message: one that is kept out of searches stays in its own, and so
// does one with a secret, such as a password or the number of a card.
func (src *Sources) MayHear(m *conversation.Message) bool {
	return !m.Forgotten && (m.SessionID == src.Session.ID || !m.NoIndex && !secret.HasStored(m.Content, m.CleanBy))
}

// divide divides the messages of this coach's sessions into sittings. Messages of every role count.
func (src *Sources) divide(got *read, currentAt time.Time) {
	messages := make(map[string][]*conversation.Message, len(src.Sessions)+1)
	for _, s := range src.Sessions {
		messages[s.ID] = make([]*conversation.Message, 0, src.ReadCounts[s.ID])
	}
	messages[src.Session.ID] = make([]*conversation.Message, 0, src.ReadCounts[src.Session.ID])
	for _, m := range got.timeline {
		if of, ok := messages[m.SessionID]; ok && src.isBefore(m) {
			messages[m.SessionID] = append(of, m)
		}
	}
	own := src.Session
	if src.Current != nil {
		own.LastSeq = src.Current.Seq - 1
	}
	sessions := append([]conversation.Session{own}, src.Sessions...)
	reach := history.Reach{Since: got.reach, Exhausted: got.exhausted}
	src.History = history.Divide(sessions, messages, reach, currentAt, src.Now, src.Zone)
}

// groupBySession gives each session its messages of the timeline. It counts them first, because long histories are
// most of what a prompt allocates.
func (src *Sources) groupBySession() {
	sizes := map[string]int{}
	for i := range src.Timeline {
		sizes[src.Timeline[i].SessionID]++
	}
	for id, n := range sizes {
		src.BySession[id] = make([]*conversation.Message, 0, n)
	}
	for _, m := range src.Timeline {
		src.BySession[m.SessionID] = append(src.BySession[m.SessionID], m)
	}
}

// addHits adds the search's hits, best first.
func (src *Sources) addHits(hits []recall.Hit) {
	for _, h := range hits {
		if src.allowsHit(h) {
			src.Hits = append(src.Hits, h)
		}
	}
	slices.SortStableFunc(src.Hits, func(a, b recall.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
}
