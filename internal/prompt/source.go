package prompt

import (
	"context"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/truncate"
)

const (
	// timelinePages bounds the pages of a recipe that tells long histories.
	timelinePages = 6
	// sessionYears is how far back sessions may lie: the latest summary may be old.
	sessionYears = 10
	// queryBytes is how much of a message is searched for: its beginning and its end.
	queryBytes = 6000
)

func (g *gatherer) open(ctx context.Context) (err error) {
	if g.got.session, g.got.access, err = g.Store.Open(ctx, g.user, g.Context, g.SessionID); err != nil {
		return err
	}
	close(g.opened)
	return nil
}

// access waits for what open reads: the search needs it only when the embedding is there, so that it need not read
// the same again.
func (g *gatherer) access(ctx context.Context) (longterm.Access, error) {
	select {
	case <-g.opened:
		return g.got.access, nil
	case <-ctx.Done():
		return longterm.Access{}, ctx.Err()
	}
}

// readTimeline reads the newest messages over all contexts, page by page until the recipe's history is full.
func (g *gatherer) readTimeline(ctx context.Context) error {
	page := conversation.Page{Limit: g.recipe.Reads.Messages, Descending: true}
	chars := 0
	for range timelinePages {
		messages, next, err := g.Store.Timeline(ctx, g.user, conversation.Range{Unerased: true}, page)
		if err != nil {
			return err
		}
		g.got.timeline = append(g.got.timeline, pointers(messages)...)
		for _, m := range g.got.timeline[len(g.got.timeline)-len(messages):] {
			chars += utf8.RuneCountInString(m.Content)
		}
		if next == "" || len(messages) == 0 || chars >= g.recipe.Reads.Chars || g.tooOld(messages[len(messages)-1]) {
			break
		}
		page.After = next
	}
	slices.Reverse(g.got.timeline)
	return nil
}

// tooOld reports whether no recipe tells a message in full any more.
func (g *gatherer) tooOld(m conversation.Message) bool {
	return g.now.Sub(m.Timestamp) > 48*time.Hour
}

func (g *gatherer) readLongTerm(ctx context.Context) error {
	snapshot, err := g.Store.LongTerm(ctx, g.user)
	if err != nil {
		return err
	}
	g.got.snapshot = &snapshot
	return nil
}

func (g *gatherer) readSessions(ctx context.Context) error {
	sessions, err := g.Store.RecentSessions(ctx, g.user, g.now.AddDate(-sessionYears, 0, 0), g.recipe.Reads.Sessions)
	if err != nil {
		return err
	}
	g.got.sessions = append(make([]conversation.Session, 0, len(sessions)), sessions...)
	return nil
}

func (g *gatherer) search(ctx context.Context) error {
	found, err := g.Search.Search(ctx, g.user, recall.Search{
		Text: queryText(g.Message), RecordTypes: g.recipe.Reads.Records, Limit: g.recipe.Reads.Hits, Rerank: true,
		Context: g.Context, SessionID: g.SessionID, CoachID: g.CoachID, Access: g.access,
	})
	if err != nil {
		return err
	}
	g.got.hits = found.Hits
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got.degraded = append(g.got.degraded, found.Degraded...)
	maps.Copy(g.got.timings, found.Timings)
	if len(found.Degraded) == 0 {
		return nil
	}
	var missing partialError
	for _, d := range found.Degraded {
		missing = append(missing, d.Source)
	}
	return missing
}

// queryText is the part of a message that is searched for.
func queryText(message string) string {
	if len(message) <= queryBytes {
		return message
	}
	return truncate.Bytes(message, queryBytes/2) + "\n" + truncate.LastBytes(message, queryBytes/2)
}

// ownNeeded is how many of the session's own messages the recipe may tell.
func (g *gatherer) tailSize() int {
	return g.recipe.strategy().Reach(g.agent) + 1 // the current message may be stored already
}

// needsTail reports whether the timeline lacks some of the session's last messages: they are older than what it
// brought, its index lags, or the session has not moved to the shared store yet.
func (g *gatherer) needsTail() bool {
	s := g.got.session
	if s.LastSeq == 0 && s.Placement != conversation.Embedded {
		return false
	}
	if s.Placement == conversation.Embedded || s.Placement == conversation.Dual {
		return true
	}
	own := map[int]conversation.Role{}
	for _, m := range g.got.timeline {
		if m.SessionID == s.ID {
			own[m.Seq] = m.Role
		}
	}
	found := 0
	for seq := s.LastSeq; seq > 0 && found < g.tailSize(); seq-- {
		role, known := own[seq]
		if !known && !s.Deleted.Contains(seq) {
			return true
		}
		if isConversational(role) {
			found++
		}
	}
	return false
}

func (g *gatherer) readTail(ctx context.Context) error {
	messages, err := g.Store.Tail(ctx, g.user, g.got.session, g.tailSize())
	g.got.tail = pointers(messages)
	return err
}

// pointers lets long histories be passed on without copying their messages, which nothing changes.
func pointers(messages []conversation.Message) []*conversation.Message {
	if messages == nil {
		return nil
	}
	out := make([]*conversation.Message, len(messages))
	for i := range messages {
		out[i] = &messages[i]
	}
	return out
}

// checkCurrent refuses a messageId that does not name the current message as this session stores it: a prompt that left
// out another message in its place would tell one twice, or lose one. It costs no call where the session's last
// messages, which are read anyway, hold it.
func (g *gatherer) checkCurrent(ctx context.Context) error {
	if g.MessageID == "" {
		return nil
	}
	m, found, err := g.storedCurrent(ctx)
	switch {
	case err != nil:
		return err
	case !found || m.SessionID != g.SessionID:
		return fault.InvalidField("messageId", "names no message of this session")
	case m.Role != conversation.User:
		return fault.InvalidField("messageId", "names no message of the user")
	case m.Content != g.Message:
		return fault.InvalidField("messageId", "names a message whose content is another one")
	}
	g.got.currentSeq = m.Seq
	return nil
}

// storedCurrent finds the message that the request names: among what was read, or by its id where many others have
// come in since.
func (g *gatherer) storedCurrent(ctx context.Context) (m conversation.Message, found bool, err error) {
	for _, read := range [][]*conversation.Message{g.got.tail, g.got.timeline} {
		for _, m := range read {
			if m.ID == g.MessageID {
				return *m, true, nil
			}
		}
	}
	err = g.readRequired(ctx, sourceCurrent, func(ctx context.Context) error {
		hits, err := g.Store.Resolve(ctx, g.user, g.got.access.Generation, []string{g.MessageID})
		for _, h := range hits {
			if h.Message != nil && h.Message.ID == g.MessageID {
				m, found = *h.Message, true
			}
		}
		return err
	})
	return m, found, err
}

// origin is the session that a message belongs to.
type memorySource struct{ sessionID, context string }

// maxOrigins bounds how many messages are looked up for one prompt. What lies behind it counts as unknown.
const maxMemorySources = 200

// readOrigins finds out where the messages behind extracted memories were said, in one read, for a user who keeps
// contexts apart; it costs others nothing. Where it fails, those memories are left out.
func (g *gatherer) readMemorySources(ctx context.Context) {
	if !separatesContexts(g.got.access.Preferences) || !g.got.access.Preferences.Memory {
		return
	}
	g.got.memorySources = map[string]memorySource{}
	for _, m := range g.got.timeline {
		g.got.memorySources[m.ID] = memorySource{m.SessionID, m.Context}
	}
	ids := g.unknownSources()
	if len(ids) == 0 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, g.Deadlines.LongTerm)
	defer cancel()
	err := g.timed(sourceMemories, func() error {
		hits, err := g.Store.Resolve(limited, g.user, g.got.access.Generation, ids)
		for _, h := range hits {
			if h.Message != nil {
				g.got.memorySources[h.Message.ID] = memorySource{h.Message.SessionID, h.Message.Context}
			}
		}
		return err
	})
	if err != nil {
		g.addDegraded(sourceMemories, degradedReason(err))
		g.Log.WarnContext(ctx, "prompt source missing", "source", sourceMemories, "error", err.Error())
	}
}

// unknownOrigins are the messages behind extracted memories whose sessions are not known yet, those of the newest
// memories first, each once.
func (g *gatherer) unknownSources() []string {
	var memories []longterm.Memory
	if g.got.snapshot != nil {
		memories = newestFirst(g.got.snapshot.Memories)
	}
	for _, h := range g.got.hits {
		if h.Memory != nil {
			memories = append(memories, *h.Memory)
		}
	}
	var ids []string
	asked := map[string]bool{}
	for _, m := range memories {
		for _, id := range m.MessageIDs {
			_, known := g.got.memorySources[id]
			if m.Source == longterm.Extracted && !known && !asked[id] && len(ids) < maxMemorySources {
				asked[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}
