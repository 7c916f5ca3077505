package prompt

import (
	"cmp"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
)

// allowsMemory reports whether a memory may be used: it is valid, and the user allows it. An extracted memory is used
// only in sessions that may use all the sessions it was drawn from. If the user separates contexts and its sessions
// are not known, it is used only if the user has pinned it.
func (sel *selection) allowsMemory(m longterm.Memory) bool {
	switch {
	case !m.Valid(sel.now):
		return false
	case m.Source != longterm.Extracted:
		return true
	case !sel.prefs.Memory:
		return false
	case !sel.prefs.SeparatesContexts(), m.Pinned && len(m.MessageIDs) == 0: // pinning is the user's own act
		return true
	}
	for _, id := range m.MessageIDs {
		from, known := sel.memorySources[id]
		if !known || !sel.allowsSession(from.sessionID, from.context) {
			return false
		}
	}
	return len(m.MessageIDs) > 0
}

// selection is what the blocks of one prompt are selected from: what was gathered, without what the user's
// preferences, the coach's scope and the messages' roles exclude.
type selection struct {
	checkedRequest
	now   time.Time
	prefs longterm.Preferences

	session conversation.Session
	coach   longterm.Coach
	// hasLongTerm is false if long-term memory could not be read.
	hasLongTerm bool
	snapshot    longterm.Snapshot

	// ownMessages are the session's own messages that were read, timeline those of all contexts. Both are oldest first,
	// without the current message and without system messages.
	ownMessages, timeline []*conversation.Message
	// bySession has the timeline's messages by session. readCounts counts all messages that were read of each session,
	// excluded ones too.
	bySession  map[string][]*conversation.Message
	readCounts map[string]int
	// sessions are the other sessions of this coach, latest first.
	sessions []conversation.Session
	hits     []recall.Hit
	// history divides what was read of this session and of sessions into sittings and tiers.
	history *history
	// unread says why not all messages of a session were read that the prompt should tell, by session.
	unread map[string]string
	// memorySources are the sessions of the messages behind extracted memories. It is nil if all may be used.
	memorySources map[string]memorySource

	// currentSeq is the current message's seq, or 0 if it is not stored.
	currentSeq, messageTokens int
	// newest is the time of the newest summary of each subject.
	newest map[subject]time.Time
	// sittingBegan is when the sitting of the current message began. goesOn is set if a steady prompt follows another one
	// of the session, and inCache if that may still be in a server's cache.
	sittingBegan    time.Time
	goesOn, inCache bool
	// claims are the dedupe keys that blocks have taken.
	claims map[dedupeKey]string
}

// dedupeKey identifies what a prompt includes once. of is an id or normalized content of the kind.
type dedupeKey struct{ kind, of string }

// isConversational reports whether prompts include messages of a role. Stored system messages never enter them.
func isConversational(role conversation.Role) bool {
	return role == conversation.RoleUser || role == conversation.RoleAssistant
}

// newSelection selects sessions and messages from what was gathered. addSources adds the rest.
func newSelection(o checkedRequest, got *gathered, now time.Time) *selection {
	sel := &selection{
		checkedRequest: o, now: now, prefs: got.access.Preferences, session: got.session,
		claims:    make(map[dedupeKey]string, len(got.timeline)),
		bySession: map[string][]*conversation.Message{}, readCounts: map[string]int{},
	}
	if sel.zone == nil {
		sel.zone = time.UTC
		if zone, err := loadZone(sel.prefs.Timezone); err == nil {
			sel.zone = zone
		}
	}
	if sel.CoachID == "" {
		sel.CoachID = sel.session.CoachID
	}
	currentAt := sel.addMessages(got)
	sel.addSessions(got)
	sel.history = sel.newHistory(got, currentAt)
	sel.setSitting()
	return sel
}

// addSources adds long-term memory and the search's hits.
func (sel *selection) addSources(got *gathered) {
	sel.messageTokens, sel.memorySources, sel.unread = got.messageTokens, got.memorySources, got.unread
	sel.addLongTerm(got.snapshot)
	sel.addHits(got.hits)
}

// addLongTerm adds the long-term memory that the user allows.
func (sel *selection) addLongTerm(snapshot *longterm.Snapshot) {
	sel.coach = longterm.DefaultCoach
	if snapshot == nil {
		return
	}
	sel.hasLongTerm, sel.snapshot = true, *snapshot
	if coach, ok := snapshot.Coaches[sel.CoachID]; ok {
		sel.coach = coach
	}
	sel.snapshot.Memories = slices.DeleteFunc(slices.Clone(snapshot.Memories), func(m longterm.Memory) bool {
		return !sel.allowsMemory(m)
	})
}

// allowsSession reports whether this session may use another one, or itself.
func (sel *selection) allowsSession(sessionID, context string) bool {
	return sessionID == sel.session.ID || sel.prefs.Shares(context, sel.Context)
}

// addMessages adds the messages that may be told, and returns the time of the current one.
func (sel *selection) addMessages(got *gathered) (currentAt time.Time) {
	current, stored := got.storedMessage(sel.MessageID)
	currentAt = sel.now
	if stored {
		currentAt, sel.currentSeq = current.Timestamp, current.Seq
	}
	sel.timeline = make([]*conversation.Message, 0, len(got.timeline))
	for _, m := range got.timeline {
		sel.readCounts[m.SessionID]++
		if isConversational(m.Role) && sel.isBefore(m) && sel.allowsSession(m.SessionID, m.Context) {
			sel.timeline = append(sel.timeline, m)
		}
	}
	sel.groupBySession()
	sel.ownMessages = slices.Clone(sel.bySession[sel.session.ID])
	if got.tail != nil {
		sel.ownMessages = slices.DeleteFunc(slices.Clone(got.tail), func(m *conversation.Message) bool {
			return !isConversational(m.Role) || !sel.isBefore(m)
		})
	}
	slices.SortFunc(sel.ownMessages, func(a, b *conversation.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return currentAt
}

// isBefore reports whether a message belongs to the conversation that leads to the current one: it is not the current
// one, and was not said behind it in the same session.
func (sel *selection) isBefore(m *conversation.Message) bool {
	behind := sel.currentSeq > 0 && m.SessionID == sel.SessionID && m.Seq >= sel.currentSeq
	return m.ID != sel.MessageID && !behind
}

// newHistory divides the messages of this coach's sessions into sittings. Messages of every role count.
func (sel *selection) newHistory(got *gathered, currentAt time.Time) *history {
	messages := make(map[string][]*conversation.Message, len(sel.sessions)+1)
	for _, s := range sel.sessions {
		messages[s.ID] = make([]*conversation.Message, 0, sel.readCounts[s.ID])
	}
	messages[sel.session.ID] = make([]*conversation.Message, 0, sel.readCounts[sel.session.ID])
	for _, m := range got.timeline {
		if of, ok := messages[m.SessionID]; ok && sel.isBefore(m) {
			messages[m.SessionID] = append(of, m)
		}
	}
	own := sel.session
	if sel.currentSeq > 0 {
		own.LastSeq = sel.currentSeq - 1
	}
	h := &history{
		now: sel.now, zone: sel.zone, reach: got.reach, exhausted: got.exhausted,
		sessions: append([]conversation.Session{own}, sel.sessions...),
	}
	h.divide(messages, currentAt)
	return h
}

// groupBySession gives each session its messages of the timeline. It counts them first, because long histories are
// most of what a prompt allocates.
func (sel *selection) groupBySession() {
	sizes := map[string]int{}
	for i := range sel.timeline {
		sizes[sel.timeline[i].SessionID]++
	}
	for id, n := range sizes {
		sel.bySession[id] = make([]*conversation.Message, 0, n)
	}
	for _, m := range sel.timeline {
		sel.bySession[m.SessionID] = append(sel.bySession[m.SessionID], m)
	}
}

// addSessions joins the sessions that the store lists with those of the newest messages, because the list is an index
// that may lag or be missing.
func (sel *selection) addSessions(got *gathered) {
	known := map[string]int{}
	for _, s := range got.sessions {
		if _, again := known[s.ID]; again || s.ID == sel.session.ID {
			continue
		}
		known[s.ID] = len(sel.sessions)
		sel.sessions = append(sel.sessions, s)
	}
	if got.sessions == nil {
		sel.addSessionsOfHits(got.hits, known)
	}
	for id, messages := range sel.bySession {
		if id == sel.session.ID {
			continue
		}
		i, ok := known[id]
		if !ok {
			i = len(sel.sessions)
			sel.sessions = append(sel.sessions, sessionFromMessages(messages))
		}
		if last := messages[len(messages)-1]; last.Timestamp.After(sel.sessions[i].LastMessageAt) {
			sel.sessions[i].LastMessageAt = last.Timestamp
		}
	}
	sel.sessions = slices.DeleteFunc(sel.sessions, func(s conversation.Session) bool {
		return s.CoachID != sel.CoachID || s.LastMessageAt.IsZero() || !sel.allowsSession(s.ID, s.Context)
	})
	slices.SortFunc(sel.sessions, func(a, b conversation.Session) int {
		return cmp.Or(b.LastMessageAt.Compare(a.LastMessageAt), cmp.Compare(a.ID, b.ID))
	})
	sel.newest = map[subject]time.Time{}
	for _, s := range slices.Backward(sel.sessions) {
		if of, ok := subjectOf(s); ok {
			sel.newest[of] = s.LastMessageAt
		}
	}
}

// subject is what a summary is about: a program, a workout or a session.
type subject struct {
	recordType conversation.RecordType
	id         string
}

func subjectOf(s conversation.Session) (subject, bool) {
	recordType, id, ok := summary.SubjectOf(s)
	return subject{recordType, id}, ok
}

// isSuperseded reports whether another session has a newer summary of the same program or workout.
func (sel *selection) isSuperseded(s conversation.Session) bool {
	of, ok := subjectOf(s)
	return ok && sel.newest[of].After(s.LastMessageAt)
}

const reasonSuperseded = "a newer summary is about the same program or workout"

// withDetails adds the fields of a session's summary that its text does not mention to the text. A session without
// messages gets the time of its summary.
func withDetails(s conversation.Session) conversation.Session {
	record, ok := summary.Of(s)
	if !ok {
		return s
	}
	if s.LastMessageAt.IsZero() {
		s.StartedAt, s.LastMessageAt = record.OccurredAt, record.OccurredAt
	}
	if details := record.Details(); details != "" {
		told := *s.Summary
		told.Text, told.Tokens = told.Text+" "+details, 0
		s.Summary = &told
	}
	return s
}

// addSessionsOfHits replaces a missing list of sessions, as far as the search found their summaries.
func (sel *selection) addSessionsOfHits(hits []recall.Hit, known map[string]int) {
	for _, h := range hits {
		if h.Summary == nil || !sel.allowsHit(h) {
			continue
		}
		if _, ok := known[h.Summary.SessionID]; ok {
			continue
		}
		known[h.Summary.SessionID] = len(sel.sessions)
		sel.sessions = append(sel.sessions, sessionOfHit(*h.Summary))
	}
}

// sessionOfHit is a session as the record of its summary shows it.
func sessionOfHit(s summary.Summary) conversation.Session {
	return withDetails(conversation.Session{
		ID: s.SessionID, Context: s.Context, CoachID: s.CoachID, Attributes: s.Fields, LastSeq: s.CoveredThrough,
		StartedAt: s.OccurredAt, LastMessageAt: s.OccurredAt,
		Summary: &conversation.SessionSummary{
			Text: s.Text, Tokens: s.Tokens, Tags: s.Tags, Kind: s.Kind, InProgress: s.InProgress,
			CoveredThrough: s.CoveredThrough, UpdatedAt: s.UpdatedAt,
		},
	})
}

// sessionFromMessages derives a session from its messages.
func sessionFromMessages(messages []*conversation.Message) conversation.Session {
	first := messages[0]
	return conversation.Session{
		ID: first.SessionID, Context: first.Context, CoachID: first.CoachID, StartedAt: first.Timestamp,
		MessageCount: len(messages), LastSeq: messages[len(messages)-1].Seq, Placement: conversation.Shared,
	}
}

// addHits adds the search's hits, best first.
func (sel *selection) addHits(hits []recall.Hit) {
	for _, h := range hits {
		if sel.allowsHit(h) {
			sel.hits = append(sel.hits, h)
		}
	}
	slices.SortStableFunc(sel.hits, func(a, b recall.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
}

func (sel *selection) allowsHit(h recall.Hit) bool {
	switch {
	case h.Message != nil:
		return isConversational(h.Message.Role) && h.Message.ID != sel.MessageID &&
			sel.allowsSession(h.Message.SessionID, h.Message.Context)
	case h.Summary != nil:
		return h.Summary.CoachID == sel.CoachID && h.Summary.SessionID != sel.session.ID &&
			sel.allowsSession(h.Summary.SessionID, h.Summary.Context)
	case h.Memory != nil:
		return sel.allowsMemory(*h.Memory)
	}
	return h.CheckIn != nil
}

// contextLabel names a context for a reader of the prompt.
func contextLabel(context string) string {
	return conversation.LabelOf(context, "Another screen")
}

// claim gives a key to a block. If another block has it already, it returns that block and false.
func (sel *selection) claim(key dedupeKey, block string) (string, bool) {
	if by, taken := sel.claims[key]; taken {
		return by, false
	}
	sel.claims[key] = block
	return block, true
}

// factKey is the dedupe key of a fact.
func factKey(content string) dedupeKey { return dedupeKey{"fact", longterm.Normalize(content)} }

// claimEntry claims an entry's key for a block. It drops the entry if another block has claimed the key.
func (sel *selection) claimEntry(e *entry, key dedupeKey, block string) *entry {
	if by, first := sel.claim(key, block); !first {
		e.drop("repeats " + by)
	}
	return e
}

// lastMessage is the time of the newest message before the current one, in any session that may be used.
func (sel *selection) lastMessage() time.Time {
	if n := len(sel.timeline); n > 0 {
		return sel.timeline[n-1].Timestamp
	}
	return time.Time{}
}

// messageKey is the dedupe key of a message.
func messageKey(id string) dedupeKey { return dedupeKey{kindMessage, id} }

// reads reports whether this context reads what another one writes. It reads its own, and those that its registry
// entry names.
func (sel *selection) reads(context string) bool {
	if context == sel.Context {
		return true
	}
	from, err := conversation.SurfaceOf(context)
	return err == nil && slices.Contains(sel.surface.Reads, from.Writes)
}

// summaryKey is the dedupe key of a session's summary.
func summaryKey(sessionID string) dedupeKey { return dedupeKey{"summary", sessionID} }
