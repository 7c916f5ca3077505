package erasure

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
)

// DeleteMessage deletes one message, its vectors, the facts drawn only from it, what kept prompts may quote of it, and
// the session's summary where that covers it. The sweep writes another from what is left, and indexes the message
// behind it anew, which was found by the end of this one too.
func (s *Service) DeleteMessage(ctx context.Context, user conversation.UserID, sessionID, messageID string) error {
	m, err := s.Store.MessageOf(ctx, user, sessionID, messageID)
	if err != nil {
		return err
	}
	index := &vectors{Service: s, user: user, generation: m.Generation}
	forgotten, err := s.forget(ctx, index, func(id, _ string) bool { return id == m.ID })
	if err != nil {
		return err
	}
	g, err := s.Store.BuryMessage(ctx, user, m, append(recall.MessageVectorIDs(m), forgotten...), s.Now())
	if err != nil {
		return err
	}
	if err := index.delete(ctx, g.Vectors); err != nil {
		return err
	}
	return s.forgetPrompts(ctx, g)
}

// memoryPage is how many memories are looked at at once.
const memoryPage = 200

// forget deletes the extracted memories all of whose messages are being deleted or are gone, and returns their ids.
// deleted is asked about each message that is there, with its session.
func (s *Service) forget(ctx context.Context, index *vectors, deleted func(message, session string) bool) ([]string, error) {
	var ids []string
	for page := (conversation.Page{Limit: memoryPage}); ; {
		memories, next, err := s.Memories.List(ctx, index.user, page)
		if err != nil {
			return nil, err
		}
		some, err := s.forgetSome(ctx, index.user, memories, deleted)
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
		if page.After = next; next == "" {
			return ids, index.delete(ctx, ids)
		}
	}
}

func (s *Service) forgetSome(ctx context.Context, user conversation.UserID, memories []longterm.Memory, deleted func(message, session string) bool) ([]string, error) {
	var messages []string
	for _, m := range memories {
		if m.Source == longterm.Extracted {
			messages = append(messages, m.MessageIDs...)
		}
	}
	if len(messages) == 0 {
		return nil, nil
	}
	sessions, err := s.Store.SessionsOf(ctx, user, messages)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range memories {
		if m.Source != longterm.Extracted || !drawnOnlyFrom(m, sessions, deleted) {
			continue
		}
		if err := gone(s.Memories.Delete(ctx, user, m.ID)); err != nil {
			return nil, err
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}

func drawnOnlyFrom(m longterm.Memory, sessions map[string]string, deleted func(message, session string) bool) bool {
	for _, id := range m.MessageIDs {
		if session, there := sessions[id]; there && !deleted(id, session) {
			return false
		}
	}
	return len(m.MessageIDs) > 0
}
