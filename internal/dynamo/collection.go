package dynamo

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// Goals, CheckIns, Memories and Todos are the stores of what a user has many of.
func (s *Store) Goals() longterm.Collection[longterm.Goal] {
	return collection[longterm.Goal]{s, goals}
}

// CheckIns is the store of check-ins; the latest is the live one.
func (s *Store) CheckIns() longterm.Collection[longterm.CheckIn] {
	return collection[longterm.CheckIn]{s, checkIns}
}

// Memories is the store of memories; the valid ones are live.
func (s *Store) Memories() longterm.Collection[longterm.Memory] {
	return collection[longterm.Memory]{s, memories}
}

// Todos is the store of todos; the pending and those completed in the last 48 hours are live.
func (s *Store) Todos() longterm.Collection[longterm.Todo] {
	return collection[longterm.Todo]{s, todos}
}

// collection keeps one kind of record.
type collection[T any] struct {
	*Store
	kind kind[T]
}

// stored is a record as it is in the table.
type stored[T any] struct {
	value   T
	key     key
	live    bool
	version int64
}

func (c collection[T]) stored(it item) stored[T] {
	k := keyIn(it)
	_, live, _ := recordIDIn(k.sk, c.kind.name)
	return stored[T]{c.kind.decode(it), k, live, it.whole(attrVersion)}
}

func (c collection[T]) keys(user conversation.UserID, id string) []key {
	pk := partition(user)
	return []key{{pk, recordSK(livePrefix, c.kind.name, id)}, {pk, recordSK(pastPrefix, c.kind.name, id)}}
}

// lookups is how often a record is looked for: one that moves between what is live and what is past while both are
// read can be missed in both.
const lookups = 3

// find reads a record, live or past. The generation is the user's, which a write has to meet again.
func (c collection[T]) find(ctx context.Context, user conversation.UserID, id string) (stored[T], int64, error) {
	if _, ok := conversation.TimeOfID(c.kind.name, id); !ok {
		return stored[T]{}, 0, fault.Missing(c.kind.name)
	}
	keys := c.keys(user, id)
	for range lookups {
		f, err := c.readOf(ctx, "read "+c.kind.name, user, keys...)
		if err != nil {
			return stored[T]{}, 0, err
		}
		for _, k := range keys {
			if it, ok := f.of(user, k); ok {
				return c.stored(it), f.generation(user), nil
			}
		}
	}
	return stored[T]{}, 0, fault.Missing(c.kind.name)
}

func (c collection[T]) Get(ctx context.Context, user conversation.UserID, id string) (T, error) {
	found, _, err := c.find(ctx, user, id)
	return found.value, err
}

func (c collection[T]) Create(ctx context.Context, user conversation.UserID, record T, idem conversation.Idempotency) (T, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	now := conversation.Milliseconds(c.now())
	made := c.kind.created(record, now)
	*c.kind.id(&made) = conversation.NewID(c.kind.name, c.kind.at(made), c.random)
	change := recordChange[T]{to: made, idem: idem, at: now, generation: c.known.generation(user)}
	met, err := c.write(ctx, user, change)
	if err != nil || met == nil {
		return made, false, err
	}
	if err := sameBody(met, idem); err != nil {
		return record, false, err
	}
	// The first answer, whatever has become of the record since: from the repeat's own body and the ledger's keys.
	made = c.kind.created(record, met.time(attrCreatedAt))
	*c.kind.id(&made) = met.text(attrRecordID)
	return made, true, nil
}

func (c collection[T]) Update(ctx context.Context, user conversation.UserID, id string, change func(*T) error) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	for p := c.patience(); ; {
		from, generation, err := c.find(ctx, user, id)
		if err != nil {
			return from.value, err
		}
		to := from.value
		if err := change(&to); err != nil {
			return from.value, err
		}
		*c.kind.id(&to) = id
		_, err = c.write(ctx, user, recordChange[T]{from: &from, to: to, generation: generation})
		if !lostRace(err) {
			return to, err
		}
		if err := p.wait(ctx); err != nil {
			return from.value, failed("update "+c.kind.name, err)
		}
	}
}

func (c collection[T]) Delete(ctx context.Context, user conversation.UserID, id string) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	for p := c.patience(); ; {
		from, _, err := c.find(ctx, user, id)
		if err != nil {
			return err
		}
		err = c.deleteItem(ctx, from.key, unchanged(from.version))
		if _, lost := conditionFailed(err); !lost {
			return failed("delete "+c.kind.name, err)
		}
		if err := p.wait(ctx); err != nil {
			return failed("delete "+c.kind.name, err)
		}
	}
}

// unchanged is the condition that nobody has written a record since it was read.
func unchanged(version int64) expression.ConditionBuilder {
	return field(attrVersion).Equal(value(whole(version)))
}

// List merges what is live and what is past, newest first.
func (c collection[T]) List(ctx context.Context, user conversation.UserID, page conversation.Page) ([]T, conversation.Position, error) {
	after := string(page.After)
	if _, ok := conversation.TimeOfID(c.kind.name, after); after != "" && !ok {
		return nil, "", errPosition()
	}
	var all []item
	for _, prefix := range []string{livePrefix, pastPrefix} {
		part, err := c.listPart(ctx, user, prefix, after, page.Limit+1)
		if err != nil {
			return nil, "", err
		}
		all = append(all, part...)
	}
	slices.SortStableFunc(all, func(a, b item) int { return -compareIDs(a, b) })
	all = slices.CompactFunc(all, func(a, b item) bool { return compareIDs(a, b) == 0 }) // one that moved in between
	out, next, err := collectPresent(ctx, c.Store, user, page.Limit, each(all), func(it item) (T, bool) { return c.kind.decode(it), true })
	if next != "" {
		next = next[lastPart(string(next)):]
	}
	return out, next, err
}

func (c collection[T]) listPart(ctx context.Context, user conversation.UserID, prefix, after string, limit int) ([]item, error) {
	low := recordSK(prefix, c.kind.name, "")
	high := afterPrefix(low)
	if after != "" {
		high = low + after
	}
	q := query{where: within(user, low, high), descending: true, page: limit + 1}
	var out []item
	for it, err := range c.query(ctx, "list "+c.kind.name, q) {
		if err != nil {
			return nil, err
		}
		if idIn(it) != after {
			out = append(out, it)
		}
		if len(out) == limit {
			break
		}
	}
	return out, nil
}
