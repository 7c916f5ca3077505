package prompt_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

func (w *fixture) Open(ctx context.Context, user conversation.UserID, in, sessionID string) (conversation.Session,
	longterm.Access, error,
) {
	p, err := w.call(ctx, "session", user)
	if err != nil {
		return conversation.Session{}, longterm.Access{}, err
	}
	for _, s := range p.sessions {
		if s.ID == sessionID && s.Context == in {
			return s, p.access, nil
		}
	}
	return conversation.Session{}, longterm.Access{}, fault.Missing("session")
}

// last returns a person's last n messages of those that pass, the oldest first.
func (p *person) last(n int, passes func(*conversation.Message) bool) []conversation.Message {
	var found []conversation.Message
	for i := len(p.messages) - 1; i >= 0 && len(found) < n; i-- {
		if passes(&p.messages[i]) {
			found = append(found, p.messages[i])
		}
	}
	slices.Reverse(found)
	return found
}

func (w *fixture) MessagesBefore(ctx context.Context, user conversation.UserID, session conversation.Session,
	before conversation.Message, n int,
) ([]conversation.Message, error) {
	source := "before"
	if before.Seq == 0 {
		source = "tail"
	}
	p, err := w.call(ctx, source, user)
	if err != nil {
		return nil, err
	}
	return p.last(n, func(m *conversation.Message) bool {
		return m.SessionID == session.ID && m.Seq <= session.LastSeq && (before.Seq == 0 || m.Seq < before.Seq)
	}), nil
}

// endReads is how often a session's last messages were read beside the timeline.
func (w *fixture) endReads() int { return w.calls["tail"] + w.calls["before"] }

func (w *fixture) CoachSessions(ctx context.Context, user conversation.UserID, of conversation.CoachSessions,
	page conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	p, err := w.call(ctx, "sessions", user)
	if err != nil {
		return nil, "", err
	}
	var all []*conversation.Session
	for i := range p.sessions {
		s := &p.sessions[i]
		if s.CoachID != of.CoachID || s.ID == of.Except || s.MessageCount == 0 && s.Summary == nil {
			continue
		}
		allowed, err := of.Allows(ctx, s.Context)
		if err != nil {
			return nil, "", err
		}
		if allowed {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *conversation.Session) int { return b.LastActiveAt().Compare(a.LastActiveAt()) })
	return pageOf(all, page)
}

// pageOf copies a page out of a list. The position is its place in the list.
func pageOf[T any](all []*T, page conversation.Page) ([]T, conversation.Position, error) {
	from := 0
	if page.After != "" {
		if _, err := fmt.Sscan(string(page.After), &from); err != nil {
			return nil, "", err
		}
	}
	to := min(from+page.Limit, len(all))
	var next conversation.Position
	if to < len(all) {
		next = conversation.Position(fmt.Sprint(to))
	}
	found := make([]T, to-from)
	for i, one := range all[from:to] {
		found[i] = *one
	}
	return found, next, nil
}

// hides reports whether only reads of the session's own messages return them.
func (w *fixture) hides(p *person, sessionID string) bool {
	return w.inAppsRecord &&
		slices.ContainsFunc(p.sessions, func(s conversation.Session) bool { return s.ID == sessionID && s.Adopted != nil })
}

func (w *fixture) Timeline(ctx context.Context, user conversation.UserID, r conversation.Range,
	page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	p, err := w.call(ctx, "messages", user)
	if err != nil {
		return nil, "", err
	}
	var all []*conversation.Message
	for i := len(p.messages) - 1; i >= 0; i-- {
		m := &p.messages[i]
		if !m.Timestamp.Before(r.From) && (r.To.IsZero() || m.Timestamp.Before(r.To)) && !w.hides(p, m.SessionID) {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *conversation.Message) int {
		return cmp.Or(b.Timestamp.Compare(a.Timestamp), cmp.Compare(b.ID, a.ID))
	})
	return pageOf(all[min(w.timelineLag, len(all)):], page)
}

func (w *fixture) LongTerm(ctx context.Context, user conversation.UserID) (longterm.Snapshot, error) {
	p, err := w.call(ctx, "long_term", user)
	if err != nil {
		return longterm.Snapshot{}, err
	}
	return p.snapshot, nil
}

func (w *fixture) Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string) ([]recall.Hit,
	error,
) {
	p, err := w.call(ctx, "resolve", user)
	if err != nil {
		return nil, err
	}
	var hits []recall.Hit
	for _, id := range ids {
		for _, m := range p.messages {
			if m.ID == id && m.Generation == generation && !w.hides(p, m.SessionID) {
				hits = append(hits, recall.Hit{ID: id, Message: &m})
			}
		}
	}
	return hits, nil
}

func (w *fixture) Search(ctx context.Context, user conversation.UserID, q recall.Search) (recall.Found, error) {
	p, err := w.call(ctx, "search", user)
	if err != nil {
		return recall.Found{}, err
	}
	access := longterm.Access{}
	if q.Access != nil {
		if access, err = q.Access(ctx); err != nil {
			return recall.Found{}, err
		}
	}
	w.mu.Lock()
	w.asked, w.access = q, access
	w.mu.Unlock()
	hits := slices.DeleteFunc(slices.Clone(p.hits), func(h recall.Hit) bool {
		return len(q.RecordTypes) > 0 && !slices.Contains(q.RecordTypes, recordType(h))
	})
	return recall.Found{Hits: hits, Degraded: w.found, Timings: map[string]time.Duration{"embedding": 0}}, nil
}

// recordType is what the vector index knows a hit's record as.
func recordType(h recall.Hit) string {
	switch {
	case h.Message != nil:
		return vector.MessageRecord
	case h.Summary != nil:
		return string(h.Summary.RecordType)
	case h.Memory != nil:
		return vector.MemoryRecord
	}
	return vector.CheckInRecord
}

func (w *fixture) SavePrompt(_ context.Context, _ conversation.UserID, k prompt.StoredPrompt) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prompts[k.ID] = k
	return w.fail["archive"]
}

func (w *fixture) StoredPrompt(_ context.Context, _ conversation.UserID, id string) (prompt.StoredPrompt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, ok := w.prompts[id]
	if !ok {
		return prompt.StoredPrompt{}, fault.Missing("prompt")
	}
	return k, nil
}

func (w *fixture) StoredPrompts(_ context.Context, _ conversation.UserID, sessionID string,
	_ conversation.Page,
) ([]prompt.StoredPrompt, conversation.Position, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []prompt.StoredPrompt
	for _, k := range w.prompts {
		if sessionID == "" || k.SessionID == sessionID {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b prompt.StoredPrompt) int { return cmp.Compare(b.ID, a.ID) })
	return all, "", nil
}
