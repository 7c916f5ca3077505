package prompt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/truncate"
)

// queryBytes is how much of a message is searched for: half from its beginning, half from its end.
const queryBytes = 6000

func (g *gatherer) open(ctx context.Context) (err error) {
	if g.got.session, g.got.access, err = g.Store.Open(ctx, g.user, g.Context, g.SessionID); err != nil {
		return err
	}
	close(g.opened)
	return nil
}

// access waits for what open reads. The search needs it only after the embedding, so it need not read it again.
func (g *gatherer) access(ctx context.Context) (longterm.Access, error) {
	select {
	case <-g.opened:
		return g.got.access, nil
	case <-ctx.Done():
		return longterm.Access{}, ctx.Err()
	}
}

// readTimeline reads the newest messages of all contexts.
func (g *gatherer) readTimeline(ctx context.Context) error {
	page := conversation.Page{Limit: g.recipe.Reads.Messages, Descending: true}
	messages, next, err := g.Store.Timeline(ctx, g.user, conversation.Range{Unerased: true}, page)
	if err != nil {
		return err
	}
	g.got.timeline = pointers(messages)
	slices.Reverse(g.got.timeline)
	if next != "" && len(messages) > 0 {
		g.got.reach = g.got.timeline[0].Timestamp
	}
	return nil
}

func (g *gatherer) readLongTerm(ctx context.Context) error {
	snapshot, err := g.Store.LongTerm(ctx, g.user)
	if err != nil {
		return err
	}
	g.got.snapshot = &snapshot
	return nil
}

func (g *gatherer) search(ctx context.Context) error {
	q := recall.Search{
		Text: queryText(g.Message), RecordTypes: g.recipe.Reads.Records, Limit: g.recipe.Reads.Hits,
		Ranked: true, Context: g.Context, SessionID: g.SessionID, CoachID: g.CoachID, Access: g.access,
	}
	if g.Ahead != nil {
		q.Embedding = g.Ahead.Embedding
		q.Assumed = &longterm.Access{Preferences: longterm.DefaultPreferences(), Generation: g.Ahead.Generation}
	}
	found, err := g.Search.Search(ctx, g.user, q)
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

// SearchText is the text that a recipe's prompt searches for: a part of the message. It is empty for a recipe that
// does not search.
func SearchText(recipe, message string) string {
	if r, ok := findRecipe(recipe); !ok || r.Reads.Hits == 0 {
		return ""
	}
	return queryText(message)
}

// searchLimit is how long the search may take: its deadline without the time that its embedding has taken before.
func (g *gatherer) searchLimit() time.Duration {
	limit := g.Deadlines.Search
	if g.Ahead != nil && g.Ahead.Embedding != nil {
		limit -= max(0, g.Ahead.Embedding.Took)
	}
	return limit
}

// queryText is the part of a message that the search uses.
func queryText(message string) string {
	if len(message) <= queryBytes {
		return message
	}
	return truncate.Bytes(message, queryBytes/2) + "\n" + truncate.LastBytes(message, queryBytes/2)
}

// needsTail reports whether the timeline lacks some of the session's last messages before the current one: because they
// are older than what it returned, because its index lags, or because the session is not in the shared store yet.
func (g *gatherer) needsTail() bool {
	s := g.got.session
	last := s.LastSeq
	if g.got.current != nil {
		last = g.got.current.Seq - 1
	}
	if s.LastSeq == 0 && s.Placement != conversation.Embedded {
		return false
	}
	if s.Placement == conversation.Embedded || s.Placement == conversation.Dual {
		return true
	}
	own := map[int]*conversation.Message{}
	for _, m := range g.got.timeline {
		if m.SessionID == s.ID {
			own[m.Seq] = m
		}
	}
	found, needed := 0, g.tailSize()
	for seq := last; seq > 0 && found < needed; seq-- {
		m := own[seq]
		if m == nil && !s.Deleted.Contains(seq) {
			return true
		}
		if m != nil && g.isRelevant(m) {
			found++
		}
	}
	return false
}

// isRelevant reports whether the scoping strategy may select a message.
func (g *gatherer) isRelevant(m *conversation.Message) bool {
	relevant := g.scopingConfig().Relevant
	return isConversational(m.Role) && (relevant == nil || relevant(m))
}

// MaxFiltered is how many of a session's last messages are looked through for the ones that a filter lets through.
const MaxFiltered = 1000

// readTail reads the session's last messages before the current one. It reads further back while too few of them are
// relevant.
func (g *gatherer) readTail(ctx context.Context) error {
	needed := g.tailSize()
	n := needed
	if g.recipe.has(blockThread) {
		n = max(n, firstMessages) // its last sitting is told in full
	}
	for ; ; n = min(4*n, MaxFiltered) {
		messages, err := g.lastMessages(ctx, n)
		if err != nil {
			return err
		}
		g.got.tail = pointers(messages)
		g.addMessages(messages)
		found := 0
		for _, m := range g.got.tail {
			if g.isRelevant(m) {
				found++
			}
		}
		if found >= needed || len(messages) < n || messages[0].Seq <= 1 {
			return nil
		}
		if n >= MaxFiltered {
			g.got.warnings = append(g.got.warnings,
				fmt.Sprintf("only the last %d messages of the session were looked through", MaxFiltered))
			return nil
		}
	}
}

// lastMessages reads the session's last n messages: before the current one where that is stored, or else all.
func (g *gatherer) lastMessages(ctx context.Context, n int) ([]conversation.Message, error) {
	if g.got.current == nil {
		return g.Store.Tail(ctx, g.user, g.got.session, n)
	}
	return g.Store.MessagesBefore(ctx, g.user, g.got.session, *g.got.current, n)
}

// pointers lets long histories be passed on without copying the messages, which nothing changes.
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

// checkCurrent refuses a messageId that does not name the current message as this session stores it. Leaving out
// another message in its place would repeat one message, or lose one. The check costs no call if the message is among
// the session's last ones, which are read anyway.
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
	case m.Role != conversation.RoleUser:
		return fault.InvalidField("messageId", "names no message of the user")
	case m.Content != g.Message:
		return fault.InvalidField("messageId", "names a message whose content is another one")
	}
	g.got.current = &m
	return nil
}

// storedCurrent finds the message that the request names: among the messages read, or by its id if many others came
// after it.
func (g *gatherer) storedCurrent(ctx context.Context) (m conversation.Message, found bool, err error) {
	if read, ok := g.got.storedMessage(g.MessageID); ok {
		return *read, true, nil
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

// storedMessage returns the message of an id, if it was read.
func (g *gathered) storedMessage(id string) (*conversation.Message, bool) {
	if g.current != nil && g.current.ID == id {
		return g.current, true
	}
	if id == "" {
		return nil, false
	}
	i := slices.IndexFunc(g.timeline, func(m *conversation.Message) bool { return m.ID == id })
	if i < 0 {
		return nil, false
	}
	return g.timeline[i], true
}

// memorySource is the session that a message behind an extracted memory belongs to. Such a memory reveals what was
// said in that session, so it is told only where the session's messages may be.
type memorySource struct{ sessionID, context string }

// maxMemorySources limits how many messages are looked up for one prompt. The sessions of the rest count as unknown.
const maxMemorySources = 200

// readMemorySources reads the sessions of the messages behind extracted memories, in one call, for a user who
// separates contexts. Other users cost no call. If the read fails, these memories are left out.
func (g *gatherer) readMemorySources(ctx context.Context) {
	if !g.got.access.Preferences.SeparatesContexts() || !g.got.access.Preferences.Memory {
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

// unknownSources returns the messages behind extracted memories and todos whose sessions are not known yet, those of
// the newest memories first, each once.
func (g *gatherer) unknownSources() []string {
	var memories []longterm.Memory
	if g.got.snapshot != nil {
		memories = newestFirst(g.got.snapshot.Memories)
		for _, t := range g.got.snapshot.Todos {
			memories = append(memories, longterm.Memory{Source: longterm.Extracted, MessageIDs: t.MessageIDs})
		}
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
