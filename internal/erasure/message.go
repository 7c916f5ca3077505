package erasure

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
)

// DeleteMessage deletes one message, its vectors, the memories drawn only from it, the stored prompts that may quote
// it, and the session's summary if that covers it. The sweep writes another summary from what is left. It also
// indexes the next message again, whose vector holds the end of this one.
func (s *Service) DeleteMessage(ctx context.Context, user conversation.UserID, sessionID, messageID string) error {
	m, err := s.Messages.Message(ctx, user, sessionID, messageID)
	if err != nil {
		return err
	}
	index := &vectorDeleter{Service: s, user: user, generation: m.Generation}
	memories, err := s.deleteMemories(ctx, index, func(id string, _ Source) bool { return id == m.ID })
	if err != nil {
		return err
	}
	t, err := s.Messages.DeleteMessage(ctx, user, m, append(recall.MessageVectorIDs(m), memories...), s.Now())
	if err != nil {
		return err
	}
	if err := index.delete(ctx, t.Vectors); err != nil {
		return err
	}
	return s.deletePrompts(ctx, t)
}

// memoryPage is how many memories are read at once.
const memoryPage = 200

// deleteMemories deletes the extracted memories all of whose messages are deleted or gone, and returns their ids.
// isDeleted says whether a message that exists is being deleted.
func (s *Service) deleteMemories(ctx context.Context, index *vectorDeleter,
	isDeleted func(message string, from Source) bool,
) ([]string, error) {
	var ids []string
	for page := (conversation.Page{Limit: memoryPage}); ; {
		memories, next, err := s.Memories.List(ctx, index.user, page)
		if err != nil {
			return nil, err
		}
		deleted, err := s.deleteMemoriesOf(ctx, index.user, memories, isDeleted)
		if err != nil {
			return nil, err
		}
		ids = append(ids, deleted...)
		if page.After = next; next == "" {
			return ids, index.delete(ctx, ids)
		}
	}
}

func (s *Service) deleteMemoriesOf(ctx context.Context, user conversation.UserID, memories []longterm.Memory,
	isDeleted func(message string, from Source) bool,
) ([]string, error) {
	var messages []string
	for _, m := range memories {
		if m.Source == longterm.Extracted {
			messages = append(messages, m.MessageIDs...)
		}
	}
	if len(messages) == 0 {
		return nil, nil
	}
	sessions, err := s.Sources.SessionsOf(ctx, user, messages)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range memories {
		if m.Source != longterm.Extracted || !isDrawnOnlyFrom(m, sessions, isDeleted) {
			continue
		}
		if err := ignoreNotFound(s.Memories.Delete(ctx, user, m.ID)); err != nil {
			return nil, err
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// isDrawnOnlyFrom reports whether a memory has messages, and none of them remains.
func isDrawnOnlyFrom(m longterm.Memory, sessions map[string]Source,
	isDeleted func(message string, from Source) bool,
) bool {
	for _, id := range m.MessageIDs {
		if from, exists := sessions[id]; exists && !isDeleted(id, from) {
			return false
		}
	}
	return len(m.MessageIDs) > 0
}
