package dynamo

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// The kinds of records of which a user has many, as they are named in keys and ids.
const (
	goalKind    = "goal"
	checkInKind = "check_in"
	memoryKind  = "memory"
	todoKind    = "todo"
	coachKind   = "coach"
	spineKind   = "spine"
)

// How many records of a kind are live at once, and how many bytes they take together, so that the cost of a prompt does
// not grow with the user's history. The others are past: they are listed and found by id, and no prompt reads them.
const (
	maxGoals       = 50
	maxGoalBytes   = 128 << 10
	maxCheckIns    = 1
	maxNoteBytes   = 512 << 10
	maxMemories    = 200
	maxMemoryBytes = 256 << 10
	maxTodos       = 100
	maxTodoBytes   = 128 << 10
	maxCoaches     = 100
	maxCoachBytes  = 512 << 10
)

// kind describes one kind of record.
type kind[T any] struct {
	name   string
	encode func(T) item
	decode func(item) T
	id     func(*T) *string
	// created returns the record as it is created at a time.
	created func(T, time.Time) T
	// at returns the time by which the record's id sorts.
	at func(T) time.Time
	// live says whether a prompt may need the record.
	live func(v T, now time.Time) bool
	// limit is how many are live at once, and maxBytes how many bytes they may take. Where there are more, before orders
	// them by which becomes past first. Those for which keep is true never become past in this way.
	limit, maxBytes int
	before          func(a, b T) int
	keep            func(T) bool
	// group, if set, is whose share of the limit a record takes. Records of the group that has the most become past first,
	// so that many records of one group leave those of the others live.
	group func(T) string
	// content, if set, is what a deleted record leaves a hash of, so that extraction does not bring it back. trace, if
	// set, is what else it leaves.
	content func(T) string
	trace   func(T) item
	// indexed says that the records have vectors. Such a record is due from each write until its vector is written, and
	// leaves a tombstone, by which the sweep deletes its vector.
	indexed bool
}

// keys returns the keys at which the record of an id can be: live or past.
func (k kind[T]) keys(user conversation.UserID, id string) []key {
	pk := partition(user)
	return []key{{pk, recordSK(livePrefix, k.name, id)}, {pk, recordSK(pastPrefix, k.name, id)}}
}

// appendLive appends the record to the list if it is live.
func (k kind[T]) appendLive(list []T, it item, now time.Time) []T {
	if v := k.decode(it); k.live(v, now) {
		return append(list, v)
	}
	return list
}

var goals = kind[longterm.Goal]{
	name: goalKind, encode: encodeGoal, decode: decodeGoal, id: func(g *longterm.Goal) *string { return &g.ID },
	created: longterm.Goal.Created,
	at:      func(g longterm.Goal) time.Time { return g.CreatedAt },
	live:    func(g longterm.Goal, _ time.Time) bool { return g.Status == longterm.GoalActive },
	limit:   maxGoals, maxBytes: maxGoalBytes, before: func(a, b longterm.Goal) int { return cmp.Compare(a.ID, b.ID) },
	keep: func(longterm.Goal) bool { return false },
}

var checkIns = kind[longterm.CheckIn]{
	name: checkInKind, encode: encodeCheckIn, decode: decodeCheckIn,
	id:      func(c *longterm.CheckIn) *string { return &c.ID },
	created: longterm.CheckIn.Created,
	at:      func(c longterm.CheckIn) time.Time { return c.Timestamp },
	live:    func(longterm.CheckIn, time.Time) bool { return true },
	limit:   maxCheckIns, maxBytes: maxNoteBytes, before: func(a, b longterm.CheckIn) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.ID, b.ID))
	},
	keep:    func(longterm.CheckIn) bool { return false },
	indexed: true,
}

var memories = kind[longterm.Memory]{
	name: memoryKind, encode: encodeMemory, decode: decodeMemory,
	id:      func(m *longterm.Memory) *string { return &m.ID },
	created: longterm.Memory.Created,
	at:      func(m longterm.Memory) time.Time { return m.CreatedAt },
	live:    func(m longterm.Memory, now time.Time) bool { return m.Valid(longterm.InLastZone(now)) },
	limit:   maxMemories, maxBytes: maxMemoryBytes,
	// Extracted memories become past before seeded ones, and older ones first.
	before: func(a, b longterm.Memory) int {
		return cmp.Or(cmp.Compare(seeded(a), seeded(b)), cmp.Compare(a.ID, b.ID))
	},
	keep:    func(m longterm.Memory) bool { return m.Pinned },
	content: func(m longterm.Memory) string { return m.Content },
	trace:   traceOf,
	indexed: true,
}

func seeded(m longterm.Memory) int {
	if m.Source == longterm.Seeded {
		return 1
	}
	return 0
}

var todos = kind[longterm.Todo]{
	name: todoKind, encode: encodeTodo, decode: decodeTodo, id: func(t *longterm.Todo) *string { return &t.ID },
	created: longterm.Todo.Created,
	at:      func(t longterm.Todo) time.Time { return t.CreatedAt },
	live: func(t longterm.Todo, now time.Time) bool {
		isWin := t.Status == longterm.TodoCompleted && now.Sub(t.CompletedAt) < longterm.WinWindow
		return t.Status == longterm.Pending || isWin
	},
	limit: maxTodos, maxBytes: maxTodoBytes, before: func(a, b longterm.Todo) int { return cmp.Compare(a.ID, b.ID) },
	keep:    func(longterm.Todo) bool { return false },
	group:   func(t longterm.Todo) string { return t.CoachID },
	content: func(t longterm.Todo) string { return t.Content },
}

// recordID returns the id in a record's sk, which is its last part.
func recordID(it item) string {
	sk := it.string(attrSK)
	return sk[strings.LastIndexByte(sk, '#')+1:]
}

// CollectionStore keeps one kind of record of which a user has many. Live records are those that a prompt may need. The
// others are past. It is safe for concurrent use.
type CollectionStore[T any] struct {
	db   *DB
	kind kind[T]
}

var _ longterm.Collection[longterm.Goal] = (*CollectionStore[longterm.Goal])(nil)

// NewGoalStore returns the goals of a DB. The active ones are live.
func NewGoalStore(db *DB) *CollectionStore[longterm.Goal] {
	return &CollectionStore[longterm.Goal]{db, goals}
}

// NewCheckInStore returns the check-ins of a DB. The latest one is live.
func NewCheckInStore(db *DB) *CollectionStore[longterm.CheckIn] {
	return &CollectionStore[longterm.CheckIn]{db, checkIns}
}

// NewMemoryStore returns the memories of a DB. The valid ones are live.
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
	key     key
	live    bool
	version int64
	bytes   int
}

func (s *CollectionStore[T]) decodeStored(it item) stored[T] {
	k := keyOf(it)
	_, live, _ := parseRecordSK(k.sk, s.kind.name)
	return stored[T]{s.kind.decode(it), k, live, it.int64(attrVersion), it.size()}
}

// findAttempts is how often a record is looked for. One that becomes past while both of its keys are read can be missed
// at both.
const findAttempts = 3

// find reads a record, live or past, and the user's generation, on which a write of the record depends.
func (s *CollectionStore[T]) find(ctx context.Context, user conversation.UserID, id string,
) (record stored[T], generation int64, err error) {
	if _, ok := conversation.TimeOfID(s.kind.name, id); !ok {
		return stored[T]{}, 0, fault.Missing(s.kind.name)
	}
	keys := s.kind.keys(user, id)
	for range findAttempts {
		records, err := s.db.readCurrent(ctx, "read "+s.kind.name, user, keys...)
		if err != nil {
			return stored[T]{}, 0, err
		}
		for _, k := range keys {
			if it, ok := records.current(user, k); ok {
				return s.decodeStored(it), records.generation(user), nil
			}
		}
	}
	return stored[T]{}, 0, fault.Missing(s.kind.name)
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
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	now := conversation.Milliseconds(s.db.now())
	created := s.kind.created(record, now)
	*s.kind.id(&created) = conversation.NewID(s.kind.name, s.kind.at(created), s.db.random)
	existing, err := s.writeNew(ctx, user, recordChange[T]{to: created, idem: idem, at: now})
	if err != nil || existing == nil {
		return created, false, err
	}
	if err := checkSameBody(existing, idem); err != nil {
		return record, false, err
	}
	// The first answer again, whatever has become of the record since.
	created = s.kind.created(record, existing.time(attrCreatedAt))
	*s.kind.id(&created) = existing.string(attrRecordID)
	return created, true, nil
}

// Update applies a change to a record. When another writer came first, it applies the change to what that one wrote.
func (s *CollectionStore[T]) Update(ctx context.Context, user conversation.UserID, id string, change func(*T) error,
) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	for b := s.db.backoff(); ; {
		from, generation, err := s.find(ctx, user, id)
		if err != nil {
			return from.value, err
		}
		to := from.value
		if err := change(&to); err != nil {
			return from.value, err
		}
		*s.kind.id(&to) = id
		done, err := s.writeChanged(ctx, user, recordChange[T]{from: &from, to: to, generation: generation}, b)
		if done || err != nil {
			return to, err
		}
		if err := b.afterConflict(ctx); err != nil {
			return from.value, failed("update "+s.kind.name, err)
		}
	}
}

// Delete deletes a record.
func (s *CollectionStore[T]) Delete(ctx context.Context, user conversation.UserID, id string) error {
	op := "delete " + s.kind.name
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	for b := s.db.backoff(); ; {
		from, generation, err := s.find(ctx, user, id)
		if err != nil {
			return err
		}
		deleted, err := s.deleteStored(ctx, op, user, from, generation, nil, b)
		if deleted || err != nil {
			return err
		}
		if err := b.afterConflict(ctx); err != nil {
			return failed(op, err)
		}
	}
}

// vectorSweepAfter is when the sweep deletes the vector of a deleted record. The stream's worker does so within
// seconds, unless its event is lost.
const vectorSweepAfter = 15 * time.Minute

// deleteStored deletes a record that was read. It reports false when another writer came first. A record with a vector
// leaves a tombstone, one that extraction may bring back a hash of its content, with what makes that due.
func (s *CollectionStore[T]) deleteStored(ctx context.Context, op string, user conversation.UserID, from stored[T],
	generation int64, due item, b *backoff,
) (deleted bool, err error) {
	if !s.kind.indexed && s.kind.content == nil {
		err := s.db.deleteItem(ctx, from.key, isVersion(from.version))
		_, conflict := conditionFailed(err)
		return !conflict || deletedBefore(err), failed(op, ignoreConditionFailed(err))
	}
	t := s.db.transaction()
	place := s.addDelete(t, user, from, generation, due)
	t.check(generationKey(user), isGeneration(generation))
	failures, err := s.db.commit(ctx, op, t, b)
	if err != nil || failures == nil {
		return err == nil, err
	}
	existing, _ := failures.existing(place)
	return failures.ambiguous && existing == nil, nil // an earlier attempt deleted it, and its answer was lost
}

// isVersion is the condition that nobody has written a record since it was read.
func isVersion(version int64) expression.ConditionBuilder {
	return field(attrVersion).Equal(value(intAttr(version)))
}

// List returns one page of live and past records, newest first.
func (s *CollectionStore[T]) List(ctx context.Context, user conversation.UserID, page conversation.Page,
) ([]T, conversation.Position, error) {
	after := string(page.After)
	if _, ok := conversation.TimeOfID(s.kind.name, after); after != "" && !ok {
		return nil, "", errPosition()
	}
	var all []item
	for _, prefix := range []string{livePrefix, pastPrefix} {
		part, err := s.listPrefix(ctx, user, prefix, after, page.Limit+1)
		if err != nil {
			return nil, "", err
		}
		all = append(all, part...)
	}
	slices.SortStableFunc(all, func(a, b item) int { return cmp.Compare(recordID(b), recordID(a)) })
	// A record that became past between the two reads is in both lists.
	all = slices.CompactFunc(all, func(a, b item) bool { return recordID(a) == recordID(b) })
	out, next, err := collectCurrent(ctx, s.db, user, page.Limit, sequence(all), func(it item) (T, bool) {
		return s.kind.decode(it), true
	})
	if next != "" {
		next = next[strings.LastIndexByte(string(next), '#')+1:]
	}
	return out, next, err
}

func (s *CollectionStore[T]) listPrefix(ctx context.Context, user conversation.UserID, prefix, after string, limit int,
) ([]item, error) {
	low := recordSK(prefix, s.kind.name, "")
	high := afterPrefix(low)
	if after != "" {
		high = low + after
	}
	q := query{where: between(user, low, high), descending: true, page: limit + 1}
	var out []item
	for it, err := range s.db.query(ctx, "list "+s.kind.name, q) {
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
func sequence(records []item) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for _, it := range records {
			if !yield(it, nil) {
				return
			}
		}
	}
}
