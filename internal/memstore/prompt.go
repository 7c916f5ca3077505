package memstore

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
)

// Prompts keeps prompts that were built.
type Prompts struct{ *DB }

var (
	_ prompt.Archive      = Prompts{}
	_ erasure.PromptStore = Prompts{}
)

// SavePrompt stores a prompt of the user's generation.
func (s Prompts) SavePrompt(_ context.Context, user conversation.UserID, p prompt.StoredPrompt) error {
	u, unlock := s.lock(user)
	defer unlock()
	if p.Generation != u.generation {
		return fault.New(fault.Conflict, "the user was erased since the prompt was built")
	}
	u.prompts[p.ID] = copied(p)
	return nil
}

// StoredPrompt returns a prompt.
func (s Prompts) StoredPrompt(_ context.Context, user conversation.UserID, id string) (prompt.StoredPrompt, error) {
	u, unlock := s.lock(user)
	defer unlock()
	p, ok := u.prompts[id]
	if !ok || !p.ExpiresAt.After(s.now()) {
		return prompt.StoredPrompt{}, fault.Missing("prompt")
	}
	return copied(p), nil
}

// StoredPrompts lists prompts, newest first.
func (s Prompts) StoredPrompts(_ context.Context, user conversation.UserID, sessionID string, page conversation.Page,
) ([]prompt.StoredPrompt, conversation.Position, error) {
	u, unlock := s.lock(user)
	defer unlock()
	var live []prompt.StoredPrompt
	for _, p := range u.prompts {
		if p.ExpiresAt.After(s.now()) {
			live = append(live, p)
		}
	}
	l := listing[prompt.StoredPrompt]{
		name: "prompts", descending: true,
		key:   func(p prompt.StoredPrompt) string { return conversation.FormatTime(p.CreatedAt) + "/" + p.ID },
		size:  func(p prompt.StoredPrompt) int { return len(p.Manifest) + len(p.Text) },
		picks: func(p prompt.StoredPrompt) bool { return sessionID == "" || p.SessionID == sessionID },
	}
	return l.page(live, page)
}

// DeletePrompts deletes a session's prompts of a span of time, and the text of all other prompts of the span.
func (s Prompts) DeletePrompts(_ context.Context, user conversation.UserID, span erasure.PromptSpan) error {
	u, unlock := s.lock(user)
	defer unlock()
	for id, p := range u.prompts {
		switch {
		case p.CreatedAt.Before(span.From), !p.CreatedAt.Before(span.To):
		case p.SessionID == span.SessionID && !p.SessionCreatedAt.After(span.DeletedAt):
			delete(u.prompts, id)
		default:
			p.Text = nil
			u.prompts[id] = p
		}
	}
	return nil
}
