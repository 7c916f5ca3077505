package erasure

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
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

// recordPage is how many memories or todos are read at once.
const recordPage = 200

// noneIsDeleted is for messages that are gone already.
func noneIsDeleted(string, Source) bool { return false }

// deleteDrawn deletes the extracted memories and todos all of whose messages are deleted or gone, and returns the ids
// of the memories. isDeleted says whether a message that exists is being deleted.
func (s *Service) deleteDrawn(ctx context.Context, index *vectorDeleter,
	isDeleted func(message string, from Source) bool,
) ([]string, error) {
	memories := drawn[longterm.Memory]{s.Memories, func(m longterm.Memory) (string, []string) {
		if m.Source != longterm.Extracted {
			return m.ID, nil
		}
		return m.ID, m.MessageIDs
	}}
	ids, err := memories.delete(ctx, s.Sources, index.user, isDeleted)
	if err != nil {
		return nil, err
	}
	todos := drawn[longterm.Todo]{s.Todos, func(t longterm.Todo) (string, []string) { return t.ID, t.MessageIDs }}
	if _, err := todos.delete(ctx, s.Sources, index.user, isDeleted); err != nil {
		return nil, err
	}
	return ids, index.delete(ctx, ids)
}

// drawn is the records of one kind, some of which are drawn from messages. of returns the id of a record and its
// messages.
type drawn[T any] struct {
	records longterm.Collection[T]
	of      func(T) (id string, messages []string)
}

// delete deletes the records without a message that stays, and returns their ids.
func (d drawn[T]) delete(ctx context.Context, sources SourceStore, user conversation.UserID,
	isDeleted func(message string, from Source) bool,
) ([]string, error) {
	var ids []string
	for page := (conversation.Page{Limit: recordPage}); ; {
		records, next, err := d.records.List(ctx, user, page)
		if err != nil {
			return nil, err
		}
		deleted, err := d.deleteOf(ctx, sources, user, records, isDeleted)
		if err != nil {
			return nil, err
		}
		ids = append(ids, deleted...)
		if page.After = next; next == "" {
			return ids, nil
		}
	}
}

func (d drawn[T]) deleteOf(ctx context.Context, sources SourceStore, user conversation.UserID, records []T,
	isDeleted func(message string, from Source) bool,
) ([]string, error) {
	var all []string
	for _, r := range records {
		_, messages := d.of(r)
		all = append(all, messages...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	sessions, err := sources.SessionsOf(ctx, user, all)
	if err != nil {
		return nil, err
	}
	stays := func(message string) bool {
		from, exists := sessions[message]
		return exists && !isDeleted(message, from)
	}
	var ids []string
	for _, r := range records {
		id, messages := d.of(r)
		if len(messages) == 0 || slices.ContainsFunc(messages, stays) {
			continue
		}
		if err := fault.IgnoreNotFound(d.records.Delete(ctx, user, id)); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
