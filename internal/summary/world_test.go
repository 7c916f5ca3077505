package summary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/summary"
)

// world is one user's sessions, a model and an index, where calls can be made to fail or to take their time. It keeps
// the conditions that summary.Store promises.
type world struct {
	mu       sync.Mutex
	sessions map[string]conversation.Session
	messages map[string][]conversation.Message
	due      map[string]time.Time
	saved    []summary.Summary
	indexed  map[string]summary.Summary
	repaired map[string]int
	reported []string

	calls   int
	prompts []string
	// delay is how long the model takes, fail what it and the index fail with.
	delay             time.Duration
	failModel, failIx error
	// failRead fails reading a session, failSave storing a summary.
	failRead error
	failSave func(summary.Summary) error
	users    []string
}

func newWorld() *world {
	return &world{
		sessions: map[string]conversation.Session{}, messages: map[string][]conversation.Message{},
		due: map[string]time.Time{}, indexed: map[string]summary.Summary{}, repaired: map[string]int{},
	}
}

// say appends messages to a session, as the store would, and returns the stream's change.
func (w *world) say(id string, texts ...string) conversation.Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, known := w.sessions[id]
	before := s
	if !known {
		s = conversation.Session{ID: id, Context: "program_designer", CoachID: "c", Status: conversation.Active, Generation: 1}
	}
	for _, text := range texts {
		role := conversation.User
		if rest, ok := strings.CutPrefix(text, "system:"); ok {
			role, text = conversation.System, rest
		}
		s.LastSeq++
		s.LastMessageAt = time.Now()
		w.messages[id] = append(w.messages[id], conversation.Message{
			ID: fmt.Sprint(id, s.LastSeq), Seq: s.LastSeq, Role: role, Content: text, Timestamp: s.LastMessageAt,
		})
	}
	w.sessions[id] = s
	if w.due[id].IsZero() {
		w.due[id] = time.Now().Add(15 * time.Minute)
	}
	return w.change(before, known, s)
}

// alter changes a session otherwise and returns the stream's change.
func (w *world) alter(id string, change func(*conversation.Session)) conversation.Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[id]
	before := s
	change(&s)
	w.sessions[id] = s
	return w.change(before, true, s)
}

func (w *world) change(before conversation.Session, known bool, after conversation.Session) conversation.Change {
	c := conversation.Change{User: "ann", After: &after}
	if known {
		c.Before = &before
	}
	return c
}

func (w *world) SessionIn(_ context.Context, _ conversation.UserID, _, id string) (conversation.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.sessions[id]
	if !ok {
		return s, fault.Missing("session")
	}
	return s, w.failRead
}

func (w *world) MessagesAfter(_ context.Context, _ conversation.UserID, s conversation.Session, after, limit int) ([]conversation.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []conversation.Message
	for _, m := range w.messages[s.ID] {
		if m.Seq > after && len(out) < limit {
			out = append(out, m)
		}
	}
	return out, nil
}

func (w *world) RecentSessions(context.Context, conversation.UserID, time.Time, int) ([]conversation.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []conversation.Session
	for _, s := range w.sessions {
		out = append(out, s)
	}
	return out, nil
}

func (w *world) SaveSummary(_ context.Context, _ conversation.UserID, of conversation.Session, s summary.Summary) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failSave != nil {
		if err := w.failSave(s); err != nil {
			return err
		}
	}
	session, ok := w.sessions[of.ID]
	if !ok || session.Generation != s.Generation {
		return fault.Missing("session")
	}
	if !s.Replaces(session.Summary) {
		return fault.New(fault.Conflict, "a summary that covers as much is there")
	}
	if s.Kind == conversation.ByModel {
		session.SummarizedSeq = max(session.SummarizedSeq, s.CoveredThrough)
	}
	if s.Text != "" {
		session.Summary = &conversation.SessionSummary{
			Text: s.Text, Kind: s.Kind, InProgress: s.InProgress, CoveredThrough: s.CoveredThrough, UpdatedAt: s.UpdatedAt,
		}
	}
	w.sessions[of.ID] = session
	w.saved = append(w.saved, s)
	return nil
}

func (w *world) DueBefore(_ context.Context, at time.Time, _ int) ([]summary.Due, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []summary.Due
	for id, due := range w.due {
		if !due.After(at) {
			out = append(out, summary.Due{User: "ann", Context: "program_designer", SessionID: id, DueAt: due})
		}
	}
	return out, nil
}

func (w *world) Rearm(_ context.Context, _ conversation.UserID, s conversation.Session, at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due[s.ID] = at
	return nil
}

func (w *world) Settle(_ context.Context, _ conversation.UserID, s conversation.Session) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.sessions[s.ID]; now.SummarizedSeq == now.LastSeq {
		delete(w.due, s.ID)
	}
	return nil
}

func (w *world) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	w.mu.Lock()
	w.calls++
	w.users = append(w.users, r.User)
	w.prompts = append(w.prompts, r.Messages[len(r.Messages)-1].Content)
	delay, fail := w.delay, w.failModel
	w.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return llm.Completion{}, ctx.Err()
	}
	if fail != nil {
		return llm.Completion{}, fail
	}
	text, err := json.Marshal(map[string]string{"summary": "model: " + r.Messages[1].Content})
	return llm.Completion{Text: string(text), Model: "m"}, err
}

func (w *world) IndexSummary(_ context.Context, _ conversation.UserID, s summary.Summary) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failIx != nil {
		return w.failIx
	}
	w.indexed[s.ID()] = s
	return nil
}

func (w *world) Repair(_ context.Context, _ conversation.UserID, s conversation.Session) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.repaired[s.ID]++
	return nil
}

func (w *world) Count(text string) int { return len(strings.Fields(text)) }

func (w *world) service() *summary.Service {
	return summary.New(summary.Deps{
		Store: w, Model: w, Index: w, Messages: w, Tokens: w, Now: time.Now,
		Report: func(_ context.Context, op string, _ error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reported = append(w.reported, op)
		},
		EveryMessages: 4, Idle: 15 * time.Minute, Timeout: 2500 * time.Millisecond, Background: true,
	})
}
