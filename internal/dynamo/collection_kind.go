package dynamo

import (
	"cmp"
	"strings"
	"time"

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

// How many records of a kind are live at once, so that the cost of a prompt does not grow with the user's history. The
// others are past: they are listed and found by id, and no prompt reads them.
const (
	maxGoals    = 50
	maxCheckIns = 1
	maxMemories = 200
	maxTodos    = 100
	maxCoaches  = 100
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
	// limit is how many are live at once. Where there are more, before orders them by which becomes past first. Those for
	// which keep is true never become past in this way.
	limit  int
	before func(a, b T) int
	keep   func(T) bool
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
	limit:   maxGoals, before: func(a, b longterm.Goal) int { return cmp.Compare(a.ID, b.ID) },
	keep: func(longterm.Goal) bool { return false },
}

var checkIns = kind[longterm.CheckIn]{
	name: checkInKind, encode: encodeCheckIn, decode: decodeCheckIn,
	id:      func(c *longterm.CheckIn) *string { return &c.ID },
	created: longterm.CheckIn.Created,
	at:      func(c longterm.CheckIn) time.Time { return c.Timestamp },
	live:    func(longterm.CheckIn, time.Time) bool { return true },
	limit:   maxCheckIns, before: func(a, b longterm.CheckIn) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.ID, b.ID))
	},
	keep: func(longterm.CheckIn) bool { return false },
}

var memories = kind[longterm.Memory]{
	name: memoryKind, encode: encodeMemory, decode: decodeMemory,
	id:      func(m *longterm.Memory) *string { return &m.ID },
	created: longterm.Memory.Created,
	at:      func(m longterm.Memory) time.Time { return m.CreatedAt },
	live:    longterm.Memory.Valid,
	limit:   maxMemories,
	// Extracted memories become past before seeded ones, and older ones first.
	before: func(a, b longterm.Memory) int {
		return cmp.Or(cmp.Compare(seeded(a), seeded(b)), cmp.Compare(a.ID, b.ID))
	},
	keep: func(m longterm.Memory) bool { return m.Pinned },
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
		return t.Status == longterm.Pending || now.Sub(t.CompletedAt) < longterm.WinWindow
	},
	limit: maxTodos, before: func(a, b longterm.Todo) int { return cmp.Compare(a.ID, b.ID) },
	keep: func(longterm.Todo) bool { return false },
}

// recordID returns the id in a record's sk, which is its last part.
func recordID(it item) string {
	sk := it.string(attrSK)
	return sk[strings.LastIndexByte(sk, '#')+1:]
}
