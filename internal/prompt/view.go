package prompt

import (
	"cmp"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
)

// view is what the blocks of one prompt are chosen from: what was gathered, without what the user's preferences, the
// coach's scope and the rules keep out.
type view struct {
	order
	now   time.Time
	prefs longterm.Preferences

	session conversation.Session
	coach   longterm.Coach
	// knows is false where long-term memory could not be read.
	knows    bool
	snapshot longterm.Snapshot

	// own are the session's own messages, timeline those of all contexts, both oldest first, without the current one
	// and without system messages.
	own, timeline []*conversation.Message
	// bySession are the timeline's messages by session, read how many it has of each, those that are not told included.
	bySession map[string][]*conversation.Message
	read      map[string]int
	// sessions are the other sessions of this coach, latest first.
	sessions []conversation.Session
	hits     []recall.Hit
	thread   thread
	// origins are the sessions of the messages behind extracted memories, nil where all may be told of.
	origins map[string]origin

	messageTokens int
	// used holds what a block of higher value tells already, and which.
	used map[telling]string
}

// telling is what is told once: of a kind, an id or normalised content.
type telling struct{ kind, of string }

// tellable reports whether prompts tell messages of a role: stored system messages never enter them.
func tellable(role conversation.Role) bool {
	return role == conversation.User || role == conversation.Assistant
}

// look makes the view of what was gathered.
func look(o order, got gathered, now time.Time) *view {
	v := &view{
		order: o, now: now, prefs: got.access.Preferences, session: got.session, messageTokens: got.messageTokens,
		origins: got.origins, used: make(map[telling]string, len(got.timeline)),
		bySession: map[string][]*conversation.Message{}, read: map[string]int{},
	}
	if v.place == nil {
		v.place = time.UTC
		if place, err := zone(v.prefs.Timezone); err == nil {
			v.place = place
		}
	}
	if v.CoachID == "" {
		v.CoachID = v.session.CoachID
	}
	v.recollect(got.snapshot)
	v.readMessages(got)
	v.readHits(got.hits)
	v.readSessions(got.sessions)
	v.thread = chain(v.session, v.sessions, v.lastOwn(), now)
	return v
}

// recollect takes long-term memory in, as far as the user lets it be told.
func (v *view) recollect(snapshot *longterm.Snapshot) {
	v.coach = longterm.DefaultCoach
	if snapshot == nil {
		return
	}
	v.knows, v.snapshot = true, *snapshot
	if coach, ok := snapshot.Coaches[v.CoachID]; ok {
		v.coach = coach
	}
	v.snapshot.Memories = slices.DeleteFunc(slices.Clone(snapshot.Memories), func(m longterm.Memory) bool {
		return !v.mayTell(m)
	})
}

// visible reports whether this session may hold something of another one, or of itself.
func (v *view) visible(sessionID, context string) bool {
	return sessionID == v.session.ID || v.prefs.Shares(context, v.Context)
}

func (v *view) readMessages(got gathered) {
	// What was said behind the current message is no part of the conversation that leads to it.
	behind := func(m *conversation.Message) bool {
		return got.currentSeq > 0 && m.SessionID == v.SessionID && m.Seq >= got.currentSeq
	}
	tell := func(m *conversation.Message) bool { return tellable(m.Role) && m.ID != v.MessageID && !behind(m) }
	v.timeline = make([]*conversation.Message, 0, len(got.timeline))
	for _, m := range got.timeline {
		v.read[m.SessionID]++
		if !tell(m) || !v.visible(m.SessionID, m.Context) {
			continue
		}
		v.timeline = append(v.timeline, m)
	}
	v.divide()
	for _, m := range got.tail {
		if tell(m) {
			v.own = append(v.own, m)
		}
	}
	if got.tail == nil {
		v.own = slices.Clone(v.bySession[v.session.ID])
	}
	slices.SortFunc(v.own, func(a, b *conversation.Message) int { return cmp.Compare(a.Seq, b.Seq) })
}

// divide gives each session its messages of the timeline. Long histories are counted first: they are most of what a
// prompt allocates.
func (v *view) divide() {
	sizes := map[string]int{}
	for i := range v.timeline {
		sizes[v.timeline[i].SessionID]++
	}
	for id, n := range sizes {
		v.bySession[id] = make([]*conversation.Message, 0, n)
	}
	for _, m := range v.timeline {
		v.bySession[m.SessionID] = append(v.bySession[m.SessionID], m)
	}
}

// lastOwn is when the session's newest message before the current one was said.
func (v *view) lastOwn() time.Time {
	if len(v.own) == 0 {
		return time.Time{}
	}
	return v.own[len(v.own)-1].Timestamp
}

// readSessions joins the sessions that the store lists with those that the newest messages show: the list is an index,
// which may lag or be missing.
func (v *view) readSessions(listed []conversation.Session) {
	known := map[string]int{}
	for _, s := range listed {
		if s.ID == v.session.ID {
			continue
		}
		known[s.ID] = len(v.sessions)
		v.sessions = append(v.sessions, s)
	}
	if listed == nil {
		v.sessionsOfHits(known)
	}
	for id, messages := range v.bySession {
		if id == v.session.ID {
			continue
		}
		i, ok := known[id]
		if !ok {
			i = len(v.sessions)
			v.sessions = append(v.sessions, shown(messages))
		}
		if last := messages[len(messages)-1]; last.Timestamp.After(v.sessions[i].LastMessageAt) {
			v.sessions[i].LastMessageAt = last.Timestamp
		}
	}
	v.sessions = slices.DeleteFunc(v.sessions, func(s conversation.Session) bool {
		return s.CoachID != v.CoachID || s.LastMessageAt.IsZero() || !v.visible(s.ID, s.Context)
	})
	slices.SortFunc(v.sessions, func(a, b conversation.Session) int {
		return cmp.Or(b.LastMessageAt.Compare(a.LastMessageAt), cmp.Compare(a.ID, b.ID))
	})
}

// sessionsOfHits makes up for a list of sessions that is missing, as far as the search found their summaries.
func (v *view) sessionsOfHits(known map[string]int) {
	for _, h := range v.hits {
		if h.Summary == nil {
			continue
		}
		if _, ok := known[h.Summary.SessionID]; ok {
			continue
		}
		known[h.Summary.SessionID] = len(v.sessions)
		v.sessions = append(v.sessions, conversation.Session{
			ID: h.Summary.SessionID, Context: h.Summary.Context, CoachID: h.Summary.CoachID,
			StartedAt: h.Summary.OccurredAt, LastMessageAt: h.Summary.OccurredAt,
			Summary: &conversation.SessionSummary{
				Text: h.Summary.Text, Tokens: h.Summary.Tokens, Kind: h.Summary.Kind, InProgress: h.Summary.InProgress,
				CoveredThrough: h.Summary.CoveredThrough, UpdatedAt: h.Summary.UpdatedAt,
			},
		})
	}
}

// shown is a session as its messages show it.
func shown(messages []*conversation.Message) conversation.Session {
	first := messages[0]
	return conversation.Session{
		ID: first.SessionID, Context: first.Context, CoachID: first.CoachID, StartedAt: first.Timestamp,
		MessageCount: len(messages), LastSeq: messages[len(messages)-1].Seq, Placement: conversation.Shared,
	}
}

// readHits takes the search's answers in, best first.
func (v *view) readHits(hits []recall.Hit) {
	for _, h := range hits {
		if v.mayUse(h) {
			v.hits = append(v.hits, h)
		}
	}
	slices.SortStableFunc(v.hits, func(a, b recall.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
}

func (v *view) mayUse(h recall.Hit) bool {
	switch {
	case h.Message != nil:
		return tellable(h.Message.Role) && h.Message.ID != v.MessageID && v.visible(h.Message.SessionID, h.Message.Context)
	case h.Summary != nil:
		return h.Summary.CoachID == v.CoachID && h.Summary.SessionID != v.session.ID && v.visible(h.Summary.SessionID, h.Summary.Context)
	case h.Memory != nil:
		return v.mayTell(*h.Memory)
	}
	return h.CheckIn != nil
}

// label names a context for a reader of the prompt.
func label(context string) string {
	return conversation.LabelOf(context, "Another screen")
}

// use marks something as told by a block, and reports false, with the block that told it, where one did before.
func (v *view) use(key telling, block string) (string, bool) {
	if by, taken := v.used[key]; taken {
		return by, false
	}
	v.used[key] = block
	return block, true
}
