package erasure

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
)

// messagePage is how many messages are deleted at once.
const messagePage = 500

// DeleteSession deletes a session, its messages, summaries, prompts and vectors, the memories and todos drawn only from
// it, and the text of other prompts that may quote it.
//
// The session itself is gone at once. When a later step fails, a repeat or the sweep goes on. Earlier sessions of the
// same id whose deletion is not finished are emptied, too.
func (s *Service) DeleteSession(ctx context.Context, user conversation.UserID, id string) error {
	t, err := s.Sessions.DeleteSession(ctx, user, id, s.Now().Add(resumeAfter))
	if err != nil {
		return err
	}
	return s.emptyAll(ctx, t)
}

// emptyAll empties a deleted session and the earlier ones of its id whose deletion is not finished.
func (s *Service) emptyAll(ctx context.Context, t Tombstone) error {
	for {
		err := s.empty(ctx, t)
		if err != nil {
			return err
		}
		if t, err = s.Sessions.UnfinishedDeletion(ctx, t.User, t.Session.ID); err != nil {
			return fault.IgnoreNotFound(err)
		}
	}
}

// empty deletes what is left of a deleted session. It deletes vectors before the messages from which their ids follow.
func (s *Service) empty(ctx context.Context, t Tombstone) error {
	if err := s.recordDeletion(ctx, t); err != nil {
		return err
	}
	index := &vectorDeleter{Service: s, user: t.User, generation: t.Generation}
	memories, err := s.deleteDrawn(ctx, index, func(_ string, from Source) bool {
		return from.SessionID == t.Session.ID && from.CreatedAt.Equal(t.Session.CreatedAt)
	})
	if err != nil {
		return err
	}
	t.Vectors = append(t.Vectors, memories...)
	messages, err := s.deleteMessages(ctx, index, &t)
	if err != nil {
		return err
	}
	summaries, err := s.Sessions.DeleteSummaries(ctx, t.User, *t.Session)
	if err != nil {
		return err
	}
	if err := index.delete(ctx, summaries); err != nil {
		return err
	}
	if err := s.Sessions.DeleteMarks(ctx, t.User, *t.Session); err != nil {
		return err
	}
	if err := s.deletePrompts(ctx, t); err != nil {
		return err
	}
	t.Vectors = slices.Concat(t.Vectors, messages, summaries)
	return s.saveEmptied(ctx, t)
}

// maxFileBytes bounds the names of files of one deletion, so that its record and its event have room for them.
const maxFileBytes = 200 << 10

// WithFiles adds files to a list, each once, as long as there is room.
func WithFiles(list, files []string) []string {
	bytes := 0
	for _, f := range list {
		bytes += len(f)
	}
	for _, f := range files {
		if bytes += len(f); bytes <= maxFileBytes && !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// deleteMessages deletes the remaining messages page by page, and returns the last of their vector ids. The tombstone
// has the files of messages before these are deleted.
func (s *Service) deleteMessages(ctx context.Context, index *vectorDeleter, t *Tombstone) ([]string, error) {
	var deleted []string
	for page := (conversation.Page{Limit: messagePage}); ; {
		messages, next, err := s.Sessions.RemainingMessages(ctx, *t, page)
		if err != nil {
			return nil, err
		}
		var ids []string
		known := len(t.Files)
		for _, m := range messages {
			ids = append(ids, indexing.MessageVectorIDs(m)...)
			t.Files = WithFiles(t.Files, conversation.FilesOf(m.Parts))
		}
		if len(t.Files) > known {
			if err := s.Tombstones.SaveTombstone(ctx, *t, s.Now().Add(resumeAfter)); err != nil {
				return nil, err
			}
		}
		if err := index.delete(ctx, ids); err != nil {
			return nil, err
		}
		if err := s.Sessions.DeleteMessages(ctx, t.User, messages); err != nil {
			return nil, err
		}
		deleted = LastVectors(append(deleted, ids...))
		if page.After = next; next == "" {
			return deleted, nil
		}
	}
}
