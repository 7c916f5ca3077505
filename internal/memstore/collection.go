package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
)

// record is a record of which a user has many.
type record[T any] struct {
	value   T
	live    bool
	version int64
}

// collection has the records of one kind by their ids.
type collection[T any] map[string]record[T]

// kind is a kind of records, and where a user has them.
type kind[T any] struct {
	longterm.Kind[T]
	of func(*records) collection[T]
	// expires returns when a record is gone, zero for never. It is nil where none ever is.
	expires func(T) time.Time
}

var (
	goals = kind[longterm.Goal]{
		longterm.GoalKind(), func(r *records) collection[longterm.Goal] { return r.goals }, nil,
	}
	checkIns = kind[longterm.CheckIn]{
		longterm.CheckInKind(), func(r *records) collection[longterm.CheckIn] { return r.checkIns }, nil,
	}
	memories = kind[longterm.Memory]{
		longterm.MemoryKind(), func(r *records) collection[longterm.Memory] { return r.memories },
		func(m longterm.Memory) time.Time { return m.ExpiresAt },
	}
	todos = kind[longterm.Todo]{
		longterm.TodoKind(), func(r *records) collection[longterm.Todo] { return r.todos }, nil,
	}
)

// get returns a record that has not expired.
func (c collection[T]) get(k kind[T], id string, now time.Time) (record[T], bool) {
	r, ok := c[id]
	return r, ok && !k.isExpired(r.value, now)
}

func (k kind[T]) isExpired(v T, now time.Time) bool {
	if k.expires == nil {
		return false
	}
	at := k.expires(v)
	return !at.IsZero() && !at.After(now)
}

// all returns the records that have not expired, by their ids.
func (c collection[T]) all(k kind[T], now time.Time) []record[T] {
	var out []record[T]
	for _, r := range c {
		if !k.isExpired(r.value, now) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b record[T]) int { return cmp.Compare(*k.ID(&a.value), *k.ID(&b.value)) })
	return out
}

// live returns the live records, also those that are too old by now.
func (c collection[T]) live(k kind[T], now time.Time) []record[T] {
	return slices.DeleteFunc(c.all(k, now), func(r record[T]) bool { return !r.live })
}

// needed returns the live records that a prompt may need now.
func (c collection[T]) needed(k kind[T], now time.Time) []T {
	var out []T
	for _, r := range c.live(k, now) {
		if k.Needed(r.value, now) {
			out = append(out, r.value)
		}
	}
	return out
}

// write stores a record with its next version. One that has vectors is due until they are written.
func (k kind[T]) write(db *DB, u *user, v T, live bool) {
	id, all := *k.ID(&v), k.of(u.records)
	all[id] = record[T]{copied(v), live, all[id].version + 1}
	if k.Indexed {
		u.setDueAnew(sweep.Records, id, db.dueAfterIdle())
	}
}

// place stores a record that is new or changed, and makes others past that are no longer live.
func (k kind[T]) place(db *DB, u *user, v T) error {
	now, id := db.now(), *k.ID(&v)
	others := slices.DeleteFunc(k.of(u.records).live(k, now), func(r record[T]) bool { return *k.ID(&r.value) == id })
	sized := make([]longterm.Sized[T], len(others))
	for i, r := range others {
		sized[i] = longterm.Sized[T]{Value: r.value, Bytes: sizeOfJSON(r.value)}
	}
	stays, past, err := k.Place(sized, longterm.Sized[T]{Value: v, Bytes: sizeOfJSON(v)}, now)
	if err != nil {
		return err
	}
	k.write(db, u, v, stays)
	for _, i := range past {
		k.write(db, u, others[i].value, false)
	}
	return nil
}

// remove deletes a record. One with a vector leaves a tombstone, one that extraction may bring back a trace.
func (k kind[T]) remove(db *DB, u *user, v T, trace trace) {
	id := *k.ID(&v)
	delete(k.of(u.records), id)
	delete(u.due, id)
	if k.Indexed {
		u.addVectorTombstone([]string{id}, db.now(), db.now().Add(erasure.FirstSweepAfter))
	}
	if k.Content != nil {
		u.forgotten[k.traceID(v)] = trace
	}
}

// trace is what a deleted record leaves: the likeness of a memory, and the messages that it was drawn from.
type trace struct {
	likeness   longterm.Likeness
	messageIDs []string
}

func traceOf(v any) trace {
	if m, ok := v.(longterm.Memory); ok {
		return trace{longterm.NewLikeness(m.Content), m.MessageIDs}
	}
	return trace{}
}

// traceID is the id of the trace that a record leaves. Records that say the same have the same.
func (k kind[T]) traceID(v T) string {
	return forgottenDue + k.Name + "/" + longterm.Normalize(k.Content(v))
}

// addVectorTombstone stores the tombstone of vectors, of which there is one for the same vectors.
func (u *user) addVectorTombstone(ids []string, now, due time.Time) {
	id := "tombstone/vectors/" + strings.Join(ids, "\n")
	u.tombstones[id] = copied(erasure.Tombstone{
		User: u.id, ID: id, Generation: u.generation, Emptied: true, Vectors: ids, DeletedAt: now,
	})
	u.setDueAnew(sweep.Deletions, id, due)
}

// Collection keeps one kind of record of which a user has many.
type Collection[T any] struct {
	*DB
	kind kind[T]
}

var _ longterm.Collection[longterm.Goal] = Collection[longterm.Goal]{}

// Goals returns the goals of a DB.
func Goals(db *DB) Collection[longterm.Goal] { return Collection[longterm.Goal]{db, goals} }

// CheckIns returns the check-ins of a DB.
func CheckIns(db *DB) Collection[longterm.CheckIn] { return Collection[longterm.CheckIn]{db, checkIns} }

// Memories returns the memories of a DB.
func Memories(db *DB) Collection[longterm.Memory] { return Collection[longterm.Memory]{db, memories} }

// Todos returns the todos of a DB.
func Todos(db *DB) Collection[longterm.Todo] { return Collection[longterm.Todo]{db, todos} }

// WithoutTrace returns the same records, whose deletions leave no trace.
func (s Collection[T]) WithoutTrace() Collection[T] {
	s.kind.Content = nil
	return s
}

// Create stores a record with a new id.
func (s Collection[T]) Create(_ context.Context, user conversation.UserID, v T, idem conversation.Idempotency,
) (T, bool, error) {
	u, unlock := s.lock(user)
	defer unlock()
	now := s.clock()
	first, err := u.callOf(idem, now)
	if err != nil {
		return v, false, err
	}
	if first != nil {
		if stored, ok := first.record.(T); ok {
			return copied(stored), true, nil
		}
	}
	created := copied(s.kind.Created(v, now))
	*s.kind.ID(&created) = s.newID(s.kind.Name, s.kind.At(created))
	if err := s.kind.place(s.DB, u, created); err != nil {
		return v, false, err
	}
	u.remember(idem, now, &call{record: created})
	return copied(created), false, nil
}

// Get returns one record.
func (s Collection[T]) Get(_ context.Context, user conversation.UserID, id string) (T, error) {
	u, unlock := s.lock(user)
	defer unlock()
	r, ok := s.kind.of(u.records).get(s.kind, id, s.now())
	if !ok {
		return r.value, fault.Missing(s.kind.Name)
	}
	return copied(r.value), nil
}

// List lists live and past records, newest first.
func (s Collection[T]) List(_ context.Context, user conversation.UserID, page conversation.Page,
) ([]T, conversation.Position, error) {
	u, unlock := s.lock(user)
	defer unlock()
	l := listing[T]{
		name: s.kind.Name, descending: true, key: func(v T) string { return *s.kind.ID(&v) },
		size: func(v T) int { return sizeOfJSON(v) },
	}
	var all []T
	for _, r := range s.kind.of(u.records).all(s.kind, s.now()) {
		all = append(all, r.value)
	}
	return l.page(all, page)
}

// Update changes a record. It runs change without the lock, and again where another writer came first.
func (s Collection[T]) Update(ctx context.Context, user conversation.UserID, id string, change func(*T) error,
) (T, error) {
	for {
		from, version, err := s.read(user, id)
		if err != nil {
			return from, err
		}
		to := copied(from)
		if err := change(&to); err != nil {
			return from, err
		}
		*s.kind.ID(&to) = id
		if done, err := s.replace(user, id, version, to); done || err != nil {
			return to, err
		}
	}
}

func (s Collection[T]) read(user conversation.UserID, id string) (T, int64, error) {
	u, unlock := s.lock(user)
	defer unlock()
	r, ok := s.kind.of(u.records).get(s.kind, id, s.now())
	if !ok {
		return r.value, 0, fault.Missing(s.kind.Name)
	}
	return copied(r.value), r.version, nil
}

// replace stores a record if it still has that version. A live one that does not grow stays in its place.
func (s Collection[T]) replace(user conversation.UserID, id string, version int64, to T) (bool, error) {
	u, unlock := s.lock(user)
	defer unlock()
	if s.kind.of(u.records)[id].version != version {
		return false, nil
	}
	return true, s.kind.place(s.DB, u, to)
}

// Delete deletes a record.
func (s Collection[T]) Delete(_ context.Context, user conversation.UserID, id string) error {
	u, unlock := s.lock(user)
	defer unlock()
	r, ok := s.kind.of(u.records).get(s.kind, id, s.now())
	if !ok {
		return fault.Missing(s.kind.Name)
	}
	s.kind.remove(s.DB, u, r.value, traceOf(r.value))
	return nil
}
