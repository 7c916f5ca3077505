package dynamo

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// kind is a kind of records with what the table needs to store them. Live and past records are stored under keys of
// their own. A record that has a vector is due from each write until its vector is written, and leaves a tombstone, by
// which the sweep deletes its vector.
type kind[T any] struct {
	longterm.Kind[T]
	encode func(T) table.Item
	decode func(table.Item) T
	// trace, if set, is what a record that is deleted at a time leaves beside the hash of its content.
	trace func(v T, at time.Time) table.Item
}

// keys returns the keys at which the record of an id can be: live or past.
func (k kind[T]) keys(user conversation.UserID, id string) []table.Key {
	return []table.Key{
		table.UserKey(user, table.RecordSK(table.LivePrefix, k.Name, id)),
		table.UserKey(user, table.RecordSK(table.PastPrefix, k.Name, id)),
	}
}

// appendLive appends the record to the list if it is live.
func (k kind[T]) appendLive(list []T, it table.Item, now time.Time) []T {
	if v := k.decode(it); k.Needed(v, now) {
		return append(list, v)
	}
	return list
}

// tagged returns a kind of records whose tags say how they are stored.
func tagged[T any](k longterm.Kind[T]) kind[T] {
	return kind[T]{Kind: k, encode: table.Encode[T], decode: func(it table.Item) T {
		v := table.Decode[T](it)
		*k.ID(&v) = recordID(it)
		return v
	}}
}

var (
	goals    = tagged(longterm.GoalKind())
	checkIns = tagged(longterm.CheckInKind())
	memories = kind[longterm.Memory]{longterm.MemoryKind(), encodeMemory, decodeMemory, traceOf}
	todos    = kind[longterm.Todo]{longterm.TodoKind(), encodeTodo, decodeTodo, nil}
)

// recordID returns the id in a record's sk, which is its last part.
func recordID(it table.Item) string {
	sk := it.String(table.AttrSK)
	return sk[strings.LastIndexByte(sk, '#')+1:]
}

// CollectionStore keeps one kind of record of which a user has many. Live records are those that a prompt may need. The
// others are past. It is safe for concurrent use.
type CollectionStore[T any] struct {
	db   *DB
	kind kind[T]
}

// NewGoalStore returns the goals of a DB. The active ones are live.
func NewGoalStore(db *DB) *CollectionStore[longterm.Goal] {
	return &CollectionStore[longterm.Goal]{db, goals}
}

// NewCheckInStore returns the check-ins of a DB. The latest one is live.
func NewCheckInStore(db *DB) *CollectionStore[longterm.CheckIn] {
	return &CollectionStore[longterm.CheckIn]{db, checkIns}
}

// NewMemoryStore returns the memories of a DB. The valid ones are live, and those that ended lately.
func NewMemoryStore(db *DB) *CollectionStore[longterm.Memory] {
	return &CollectionStore[longterm.Memory]{db, memories}
}

// NewTodoStore returns the todos of a DB. The pending ones, and those completed in the last 48 hours, are live.
func NewTodoStore(db *DB) *CollectionStore[longterm.Todo] {
	return &CollectionStore[longterm.Todo]{db, todos}
}

// stored is a record as it is in the table.
type stored[T any] struct {
	value   T
	key     table.Key
	live    bool
	version int64
	bytes   int
}

func (s *CollectionStore[T]) decodeStored(it table.Item) stored[T] {
	k := table.KeyOf(it)
	_, live, _ := table.ParseRecordSK(k.SK, s.kind.Name)
	return stored[T]{s.kind.decode(it), k, live, it.Int64(table.AttrVersion), it.Size()}
}

// findAttempts is how often a record is looked for. One that becomes past while both of its keys are read can be missed
// at both.
const findAttempts = 3

// find reads a record, live or past, and the user's generation, on which a write of the record depends.
func (s *CollectionStore[T]) find(ctx context.Context, user conversation.UserID, id string,
) (record stored[T], generation int64, err error) {
	if !s.kind.IsID(id) {
		return stored[T]{}, 0, fault.Missing(s.kind.Name)
	}
	keys := s.kind.keys(user, id)
	for range findAttempts {
		records, err := s.db.ReadCurrent(ctx, "read "+s.kind.Name, user, keys...)
		if err != nil {
			return stored[T]{}, 0, err
		}
		for _, k := range keys {
			if it, ok := records.Current(user, k); ok {
				return s.decodeStored(it), records.Generation(user), nil
			}
		}
	}
	return stored[T]{}, 0, fault.Missing(s.kind.Name)
}

// Get returns one record.
func (s *CollectionStore[T]) Get(ctx context.Context, user conversation.UserID, id string) (T, error) {
	found, _, err := s.find(ctx, user, id)
	return found.value, err
}

// Create stores a record with a new id.
func (s *CollectionStore[T]) Create(ctx context.Context, user conversation.UserID, record T,
	idem conversation.Idempotency,
) (T, bool, error) {
	now := conversation.Milliseconds(s.db.Now())
	created := s.kind.Created(record, now)
	*s.kind.ID(&created) = conversation.NewID(s.kind.Name, s.kind.At(created), s.db.Random)
	existing, err := s.writeNew(ctx, user, recordChange[T]{to: created, idem: idem, at: now})
	if err != nil || existing == nil {
		return created, false, err
	}
	if err := idem.CheckBody(existing.String(table.AttrBodyHash)); err != nil {
		return record, false, err
	}
	// The first answer again, whatever has become of the record since.
	created = s.kind.Created(record, existing.Time(table.AttrCreatedAt))
	*s.kind.ID(&created) = existing.String(table.AttrRecordID)
	return created, true, nil
}

// Update applies a change to a record. When another writer came first, it applies the change to what that one wrote.
func (s *CollectionStore[T]) Update(ctx context.Context, user conversation.UserID, id string, change func(*T) error,
) (to T, err error) {
	err = s.db.Retry(ctx, "update "+s.kind.Name, func(ctx context.Context, b *table.Backoff) (bool, error) {
		from, generation, err := s.find(ctx, user, id)
		if err != nil {
			return false, err
		}
		to = from.value
		if err := change(&to); err != nil {
			return false, err
		}
		if s.kind.Changed != nil {
			to = s.kind.Changed(from.value, to)
		}
		*s.kind.ID(&to) = id
		return s.writeChanged(ctx, user, recordChange[T]{from: &from, to: to, generation: generation}, b)
	})
	return to, err
}

// Delete deletes a record.
func (s *CollectionStore[T]) Delete(ctx context.Context, user conversation.UserID, id string) error {
	op := "delete " + s.kind.Name
	return s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		from, generation, err := s.find(ctx, user, id)
		if err != nil {
			return false, err
		}
		return s.deleteStored(ctx, op, user, from, generation, b)
	})
}

// deleteStored deletes a record that was read. It reports false when another writer came first. A record with a vector
// leaves a tombstone, one that extraction may bring back a hash of its content.
func (s *CollectionStore[T]) deleteStored(ctx context.Context, op string, user conversation.UserID, from stored[T],
	generation int64, b *table.Backoff,
) (deleted bool, err error) {
	if !s.kind.Indexed && s.kind.Content == nil {
		err := s.db.DeleteItem(ctx, from.key, isVersion(from.version))
		_, conflict := table.ConditionFailed(err)
		return !conflict, table.Failed(op, table.IgnoreConditionFailed(err))
	}
	t := s.db.Transaction()
	trace := s.addDelete(t, user, from, generation)
	t.Check(table.GenerationKey(user), table.IsGeneration(generation))
	t.DoneIf(func(r table.RecordSet) bool { return len(r) == 0 }, from.key)
	if trace.Bool(table.AttrRejected) { // a deletion that came first would have left less
		left := s.forgottenKey(user, from.value)
		t.DoneIf(func(r table.RecordSet) bool {
			return r[from.key] == nil && r[left].Bool(table.AttrRejected)
		}, from.key, left)
	}
	failures, err := s.db.Commit(ctx, op, t, b)
	return err == nil && failures == nil, err
}

// isVersion is the condition that nobody has written a record since it was read.
func isVersion(version int64) table.Condition {
	return table.Is(table.AttrVersion, version)
}

// List returns one page of live and past records, newest first.
func (s *CollectionStore[T]) List(ctx context.Context, user conversation.UserID, page conversation.Page,
) ([]T, conversation.Position, error) {
	after := string(page.After)
	if after != "" && !s.kind.IsID(after) {
		return nil, "", table.ErrPosition()
	}
	var all []table.Item
	for _, prefix := range []string{table.LivePrefix, table.PastPrefix} {
		part, err := s.listPrefix(ctx, user, prefix, after, page.Limit+1)
		if err != nil {
			return nil, "", err
		}
		all = append(all, part...)
	}
	slices.SortStableFunc(all, func(a, b table.Item) int { return cmp.Compare(recordID(b), recordID(a)) })
	// A record that became past between the two reads is in both lists.
	all = slices.CompactFunc(all, func(a, b table.Item) bool { return recordID(a) == recordID(b) })
	out, next, err := collectCurrent(ctx, s.db, user, page.Limit, sequence(all), func(it table.Item) (T, bool) {
		return s.kind.decode(it), true
	})
	if next != "" {
		next = next[strings.LastIndexByte(string(next), '#')+1:]
	}
	return out, next, err
}

func (s *CollectionStore[T]) listPrefix(ctx context.Context, user conversation.UserID, prefix, after string, limit int,
) ([]table.Item, error) {
	low := table.RecordSK(prefix, s.kind.Name, "")
	high := table.AfterPrefix(low)
	if after != "" {
		high = low + after
	}
	q := table.Query{Where: table.Between(user, low, high), Descending: true, Page: limit + 1}
	var out []table.Item
	for it, err := range s.db.Query(ctx, "list "+s.kind.Name, q) {
		if err != nil {
			return nil, err
		}
		if recordID(it) != after {
			out = append(out, it)
		}
		if len(out) == limit {
			break
		}
	}
	return out, nil
}

// sequence returns records that were read already as a query returns them.
func sequence(records []table.Item) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		for _, it := range records {
			if !yield(it, nil) {
				return
			}
		}
	}
}
