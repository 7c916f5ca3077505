package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/recall"
)

func (r *reader) open(ctx context.Context) (err error) {
	if r.got.session, r.got.access, err = r.Store.Open(ctx, r.User, r.Context, r.SessionID); err != nil {
		return err
	}
	close(r.opened)
	return nil
}

// access waits for what open reads. The search needs it only after the embedding, so it need not read it again.
func (r *reader) access(ctx context.Context) (longterm.Access, error) {
	select {
	case <-r.opened:
		return r.got.access, nil
	case <-ctx.Done():
		return longterm.Access{}, ctx.Err()
	}
}

// addMessage reads the current message itself, while the services have not answered yet.
func (got *read) addMessage(p *Plan, counter llm.Counter) {
	got.messageTokens = counter.Count(p.Message)
	if p.Elsewhere {
		got.reference, _ = query.FindReference(p.Message)
		got.overview = conversation.AsksForOverview(p.Message)
	}
}

// readTimeline reads the newest messages of all contexts.
func (r *reader) readTimeline(ctx context.Context) error {
	page := conversation.Page{Limit: r.Messages, Descending: true}
	messages, next, err := r.Store.Timeline(ctx, r.User, conversation.Range{Unerased: true}, page)
	if err != nil {
		return err
	}
	r.got.timeline = pointers(messages)
	slices.Reverse(r.got.timeline)
	if next != "" && len(messages) > 0 {
		r.got.reach = r.got.timeline[0].Timestamp
	}
	return nil
}

func (r *reader) readLongTerm(ctx context.Context) error {
	snapshot, err := r.Store.LongTerm(ctx, r.User)
	if err != nil {
		return err
	}
	r.got.snapshot = &snapshot
	return nil
}

func (r *reader) search(ctx context.Context) error {
	q := recall.Search{
		Text: query.Part(r.Message), RecordTypes: r.Records, Limit: r.Hits, Ranked: true, Context: r.Context,
		SessionID: r.SessionID, CoachID: r.CoachID, Recalls: r.AppContext.Recalls,
		Access: r.access, Embedding: r.Embedding, Assumed: r.Assumed, Asked: r.got.asked,
	}
	found, err := r.Search.Search(ctx, r.User, q)
	if err != nil {
		return err
	}
	r.got.hits = found.Hits
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got.degraded = append(r.got.degraded, found.Degraded...)
	maps.Copy(r.got.timings, found.Timings)
	if len(found.Degraded) == 0 {
		return nil
	}
	return partialError(recall.Sources(found.Degraded))
}

// searchLimit is how long the search may take: its deadline without the time that its embedding has taken before.
func (p *Plan) searchLimit(deadline time.Duration) time.Duration {
	if p.Embedding == nil {
		return deadline
	}
	return deadline - max(0, p.Embedding.Took)
}

// needsTail reports whether the timeline lacks some of the session's last messages before the current one: because they
// are older than what it returned, because its index lags, or because the session is not in the shared store yet.
func (r *reader) needsTail() bool {
	s := r.got.session
	last := s.LastSeq
	if r.got.current != nil {
		last = r.got.current.Seq - 1
	}
	if s.LastSeq == 0 && s.IsMigrated() {
		return false
	}
	if s.Adopted != nil {
		return true
	}
	own := map[int]*conversation.Message{}
	for _, m := range r.got.timeline {
		if m.SessionID == s.ID {
			own[m.Seq] = m
		}
	}
	found, needed := 0, r.tailSize()
	for seq := last; seq > 0 && found < needed; seq-- {
		m := own[seq]
		if m == nil && !s.Deleted.Contains(seq) {
			return true
		}
		if m != nil && r.isRelevant(m) {
			found++
		}
	}
	return false
}

// isRelevant reports whether the scoping strategy may select a message.
func (p *Plan) isRelevant(m *conversation.Message) bool {
	return IsConversational(m.Role) && (p.Scoping.Relevant == nil || p.Scoping.Relevant(m))
}

// MaxFiltered is how many of a session's last messages are looked through for the ones that a filter lets through.
const MaxFiltered = 1000

// readTail reads the session's last messages before the current one. It reads further back while too few of them are
// relevant.
func (r *reader) readTail(ctx context.Context) error {
	needed := r.tailSize()
	n := needed
	if r.Transcripts {
		n = max(n, firstMessages) // its last sitting is in the prompt in full
	}
	for ; ; n = min(4*n, MaxFiltered) {
		messages, err := r.lastMessages(ctx, n)
		if err != nil {
			return err
		}
		r.got.tail = pointers(messages)
		r.addMessages(messages)
		found := 0
		for _, m := range r.got.tail {
			if r.isRelevant(m) {
				found++
			}
		}
		if found >= needed || len(messages) < n || messages[0].Seq <= 1 {
			return nil
		}
		if n >= MaxFiltered {
			r.got.warnings = append(r.got.warnings,
				fmt.Sprintf("only the last %d messages of the session were looked through", MaxFiltered))
			return nil
		}
	}
}

// lastMessages reads the session's last n messages: before the current one where that is stored, or else all.
func (r *reader) lastMessages(ctx context.Context, n int) ([]conversation.Message, error) {
	var before conversation.Message
	if r.got.current != nil {
		before = *r.got.current
	}
	return r.Store.MessagesBefore(ctx, r.User, r.got.session, before, n)
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
func (r *reader) checkCurrent(ctx context.Context) error {
	if r.MessageID == "" {
		return nil
	}
	m, found, err := r.storedCurrent(ctx)
	switch {
	case err != nil:
		return err
	case !found || m.SessionID != r.SessionID:
		return fault.InvalidField("messageId", "names no message of this session")
	case m.Role != conversation.RoleUser:
		return fault.InvalidField("messageId", "names no message of the user")
	case m.Content != r.Message:
		return fault.InvalidField("messageId", "names a message whose content is another one")
	}
	r.got.current = &m
	return nil
}

// storedCurrent finds the message that the request names: among the messages read, or by its id if many others came
// after it. A message that only the app's own record has is in the session's tail.
func (r *reader) storedCurrent(ctx context.Context) (m conversation.Message, found bool, err error) {
	if read, ok := r.got.storedMessage(r.MessageID); ok {
		return *read, true, nil
	}
	err = r.readRequired(ctx, sourceCurrent, func(ctx context.Context) error {
		if r.got.session.Adopted != nil {
			tail, err := r.Store.MessagesBefore(ctx, r.User, r.got.session, m, MaxFiltered)
			i := slices.IndexFunc(tail, func(t conversation.Message) bool { return t.ID == r.MessageID })
			if found = i >= 0; found {
				m = tail[i]
			}
			return err
		}
		hits, err := r.Store.Resolve(ctx, r.User, r.got.access.Generation, []string{r.MessageID})
		for _, h := range hits {
			if h.Message != nil && h.Message.ID == r.MessageID {
				m, found = *h.Message, true
			}
		}
		return err
	})
	return m, found, err
}

// storedMessage returns the message of an id, if it was read.
func (got *read) storedMessage(id string) (*conversation.Message, bool) {
	if got.current != nil && got.current.ID == id {
		return got.current, true
	}
	if id == "" {
		return nil, false
	}
	i := slices.IndexFunc(got.timeline, func(m *conversation.Message) bool { return m.ID == id })
	if i < 0 {
		return nil, false
	}
	return got.timeline[i], true
}

// origin is the session of a message that a memory was extracted from. Such a memory reveals what was said in that
// session, so it is used only where the session's messages may be.
type origin struct{ sessionID, context string }

// maxOrigins limits how many messages are looked up for one prompt. The sessions of the rest count as unknown.
const maxOrigins = 200

// readOrigins reads the sessions of the messages that memories were extracted from, in one call, for a user who
// separates contexts. Other users cost no call. If the read fails, these memories are left out.
func (r *reader) readOrigins(ctx context.Context) {
	if !r.got.access.Preferences.SeparatesContexts() || !r.got.access.Preferences.Memory {
		return
	}
	r.got.origins = map[string]origin{}
	for _, m := range r.got.timeline {
		r.got.origins[m.ID] = origin{m.SessionID, m.Context}
	}
	ids := r.got.unknownOrigins()
	if len(ids) == 0 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, r.Deadlines.LongTerm)
	defer cancel()
	err := r.timed(sourceMemories, func() error {
		hits, err := r.Store.Resolve(limited, r.User, r.got.access.Generation, ids)
		for _, h := range hits {
			if h.Message != nil {
				r.got.origins[h.Message.ID] = origin{h.Message.SessionID, h.Message.Context}
			}
		}
		return err
	})
	if err != nil {
		r.addMissing(ctx, sourceMemories, err)
	}
}

// unknownOrigins returns the messages of unknown sessions that memories and todos were extracted from, those of the
// newest memories first, each once.
func (got *read) unknownOrigins() []string {
	var memories []longterm.Memory
	if got.snapshot != nil {
		memories = longterm.NewestFirst(got.snapshot.Memories)
		for _, t := range got.snapshot.Todos {
			memories = append(memories, longterm.Memory{Source: longterm.Extracted, MessageIDs: t.MessageIDs})
		}
	}
	for _, h := range got.hits {
		if h.Memory != nil {
			memories = append(memories, *h.Memory)
		}
	}
	var ids []string
	asked := map[string]bool{}
	for _, m := range memories {
		for _, id := range m.MessageIDs {
			_, known := got.origins[id]
			if m.Source == longterm.Extracted && !known && !asked[id] && len(ids) < maxOrigins {
				asked[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}
