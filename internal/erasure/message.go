package erasure

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
)

// DeleteMessage deletes one message, its vectors, the memories and todos drawn only from it, the stored prompts that
// may quote it, and the session's summary if that covers it. The sweep writes another summary from what is left. It
// also indexes the next message again, whose vector holds the end of this one.
//
// The message goes first. From then on no worker that has read it can store what follows from it.
func (s *Service) DeleteMessage(ctx context.Context, user conversation.UserID, sessionID, messageID string) error {
	m, err := s.Messages.Message(ctx, user, sessionID, messageID)
	if err != nil {
		return err
	}
	t, err := s.Messages.DeleteMessage(ctx, user, m, indexing.MessageVectorIDs(m), s.Now())
	if err != nil {
		return err
	}
	return s.deleteTraces(ctx, t)
}

// deleteTraces deletes what was made of deleted messages: memories, vectors and prompts.
func (s *Service) deleteTraces(ctx context.Context, t Tombstone) error {
	if err := s.recordDeletion(ctx, t); err != nil {
		return err
	}
	index := &vectorDeleter{Service: s, user: t.User, generation: t.Generation}
	if _, err := s.deleteDrawn(ctx, index, noneIsDeleted); err != nil {
		return err
	}
	if err := index.delete(ctx, t.Vectors); err != nil {
		return err
	}
	return s.deletePrompts(ctx, t)
}
