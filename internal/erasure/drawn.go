package erasure

import (
	"context"
	"maps"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// noneIsDeleted is for messages that are gone already.
func noneIsDeleted(string, Source) bool { return false }

// deleteDrawn deletes the extracted memories and todos all of whose messages are deleted or gone, and returns the ids
// of the memories. What only they, or only such messages, have ended holds again. isDeleted says whether a message that
// exists is being deleted.
func (s *Service) deleteDrawn(ctx context.Context, index *vectorDeleter,
	isDeleted func(message string, from Source) bool,
) ([]string, error) {
	isGone := func(ctx context.Context, messages []string) (func([]string) bool, error) {
		sessions, err := s.Sources.SessionsOf(ctx, index.user, messages)
		stays := func(message string) bool {
			from, exists := sessions[message]
			return exists && !isDeleted(message, from)
		}
		return func(of []string) bool { return len(of) > 0 && !slices.ContainsFunc(of, stays) }, err
	}
	memories := drawn[longterm.Memory]{
		s.Memories, isGone,
		func(m longterm.Memory) (string, []string, []string) {
			if m.Source != longterm.Extracted {
				return m.ID, nil, m.EndedBy
			}
			return m.ID, m.MessageIDs, m.EndedBy
		},
		longterm.Memory.WithoutEnd,
	}
	ids, err := memories.delete(ctx, index.user)
	if err != nil {
		return nil, err
	}
	todos := drawn[longterm.Todo]{
		s.Todos, isGone,
		func(t longterm.Todo) (string, []string, []string) { return t.ID, t.MessageIDs, t.EndedBy },
		func(t longterm.Todo, isUndone bool, _ map[string]longterm.Todo) (longterm.Todo, bool) {
			return t.WithoutEnd(), isUndone
		},
	}
	if _, err := todos.delete(ctx, index.user); err != nil {
		return nil, err
	}
	return ids, index.delete(ctx, ids)
}

// drawn is the records of one kind, some of which are drawn from messages, or were ended by them.
type drawn[T any] struct {
	records longterm.Collection[T]
	// isGone returns what says of some of the messages whether none of them stays.
	isGone func(ctx context.Context, messages []string) (func(some []string) bool, error)
	// of returns the id of a record, its messages, and those that ended it.
	of func(T) (id string, messages, endedBy []string)
	// withoutEnd returns a record without its end, where all messages that ended it are gone, or the records that took its
	// place are deleted. Otherwise it returns false.
	withoutEnd func(r T, isUndone bool, deleted map[string]T) (T, bool)
}

// delete deletes the records without a message that stays, and returns their ids. What they ended holds again before,
// so that a deletion that is repeated does it, too.
func (d drawn[T]) delete(ctx context.Context, user conversation.UserID) ([]string, error) {
	records, err := longterm.Newest(ctx, user, d.records, 0)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, r := range records {
		_, messages, endedBy := d.of(r)
		all = append(append(all, messages...), endedBy...)
	}
	isGone, err := d.isGone(ctx, all)
	if err != nil {
		return nil, err
	}
	deleted, kept, undone := map[string]T{}, map[string]T{}, map[string]bool{}
	for _, r := range records {
		if id, messages, endedBy := d.of(r); isGone(messages) {
			deleted[id] = r
		} else {
			kept[id], undone[id] = r, isGone(endedBy)
		}
	}
	for id, r := range kept {
		if _, ok := d.withoutEnd(r, undone[id], deleted); !ok {
			continue
		}
		_, err := d.records.Update(ctx, user, id, func(r *T) error {
			*r, _ = d.withoutEnd(*r, undone[id], deleted)
			return nil
		})
		if err := fault.IgnoreNotFound(err); err != nil {
			return nil, err
		}
	}
	for id := range deleted {
		if err := fault.IgnoreNotFound(d.records.Delete(ctx, user, id)); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(deleted)), nil
}
