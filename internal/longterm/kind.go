package longterm

import (
	"cmp"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Kind describes one kind of records of which a user has many, and says which of them are live: those that a prompt may
// need. Their number and size are bounded, so that the cost of a prompt does not grow with the user's history. The
// others are past: they are listed and found by id, and no prompt reads them.
type Kind[T any] struct {
	// Name is the kind in ids, such as "memory". ID is where a record has its id.
	Name string
	ID   func(*T) *string
	// Created returns the record as it is created at a time. At returns the time by which the record's id sorts.
	Created func(T, time.Time) T
	At      func(T) time.Time
	// Needed says whether a prompt may need the record.
	Needed func(v T, now time.Time) bool
	// Limit is how many are live at once, and MaxBytes how many bytes they may take. Where there are more, Before orders
	// them by which becomes past first. Those for which Keep is true never become past in this way.
	Limit, MaxBytes int
	Before          func(a, b T) int
	Keep            func(v T, now time.Time) bool
	// Group, if set, is whose share of the limit a record takes. Records of the group that has the most become past first,
	// so that many records of one group leave those of the others live.
	Group func(T) string
	// Content, if set, is what a deleted record leaves a trace of, so that extraction does not bring it back.
	Content func(T) string
	// Changed, if set, is the record as it is stored after the app has changed it.
	Changed func(before, after T) T
	// Indexed says that the records have vectors.
	Indexed bool
}

func never[T any](T, time.Time) bool { return false }

// GoalKind is the kind of goals. The active ones are live.
func GoalKind() Kind[Goal] {
	return Kind[Goal]{
		Name: "goal", ID: func(g *Goal) *string { return &g.ID }, Created: Goal.Created,
		At:     func(g Goal) time.Time { return g.CreatedAt },
		Needed: func(g Goal, _ time.Time) bool { return g.Status == GoalActive },
		Limit:  50, MaxBytes: 128 << 10, Keep: never[Goal],
		Before: func(a, b Goal) int { return cmp.Compare(a.ID, b.ID) },
	}
}

// CheckInKind is the kind of check-ins. The latest one is live.
func CheckInKind() Kind[CheckIn] {
	return Kind[CheckIn]{
		Name: "check_in", ID: func(c *CheckIn) *string { return &c.ID }, Created: CheckIn.Created,
		At:     func(c CheckIn) time.Time { return c.Timestamp },
		Needed: func(CheckIn, time.Time) bool { return true },
		Limit:  1, MaxBytes: 512 << 10, Keep: never[CheckIn],
		Before: func(a, b CheckIn) int {
			return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.ID, b.ID))
		},
		Indexed: true,
	}
}

// MemoryKind is the kind of memories. Live are the valid ones, and those that have ended lately and that a prompt may
// have to speak of: messages are evidence of them, or they were pinned. What has ended becomes past first, then
// extracted memories before seeded ones, and older ones first.
func MemoryKind() Kind[Memory] {
	holds := func(m Memory, now time.Time) bool { return m.HeldAt(InLastZone(now)) }
	rank := func(m Memory) int {
		switch {
		case !m.ValidUntil.IsZero():
			return 0
		case m.Source != Seeded:
			return 1
		}
		return 2
	}
	return Kind[Memory]{
		Name: "memory", ID: func(m *Memory) *string { return &m.ID }, Created: Memory.Created,
		At:     func(m Memory) time.Time { return m.CreatedAt },
		Needed: func(m Memory, now time.Time) bool { return holds(m, now) || m.corrects(now) },
		Limit:  200, MaxBytes: 256 << 10, Keep: func(m Memory, now time.Time) bool { return m.Pinned && holds(m, now) },
		Before:  func(a, b Memory) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.ID, b.ID)) },
		Content: func(m Memory) string { return m.Content + " " + m.About },
		Changed: func(before, after Memory) Memory {
			if Normalize(before.Content) != Normalize(after.Content) {
				after.EditedAt = after.UpdatedAt
			}
			return after
		},
		Indexed: true,
	}
}

// TodoKind is the kind of todos. The pending ones, and those completed within WinWindow, are live.
func TodoKind() Kind[Todo] {
	return Kind[Todo]{
		Name: "todo", ID: func(t *Todo) *string { return &t.ID }, Created: Todo.Created,
		At: func(t Todo) time.Time { return t.CreatedAt },
		Needed: func(t Todo, now time.Time) bool {
			isWin := t.Status == TodoCompleted && now.Sub(t.CompletedAt) < WinWindow
			return t.Status == Pending || isWin
		},
		Limit: 100, MaxBytes: 128 << 10, Keep: never[Todo],
		Before:  func(a, b Todo) int { return cmp.Compare(a.ID, b.ID) },
		Group:   func(t Todo) string { return t.CoachID },
		Content: func(t Todo) string { return t.Content },
	}
}

// IsID reports whether a text can be the id of a record of the kind.
func (k Kind[T]) IsID(id string) bool {
	_, ok := conversation.TimeOfID(k.Name, id)
	return ok
}

// Sized is a record with the bytes that it takes in its store.
type Sized[T any] struct {
	Value T
	Bytes int
}

// Place says whether a record that is written is live, and which of the live ones, by their places, become past: those
// that are no longer needed, and those that make room. It returns a Conflict error where every live record has to stay
// live, so that there is no room for another.
func (k Kind[T]) Place(live []Sized[T], written Sized[T], now time.Time) (stays bool, past []int, err error) {
	var room []placed[T]
	for i, r := range live {
		if k.Needed(r.Value, now) {
			room = append(room, placed[T]{r, i})
		} else {
			past = append(past, i)
		}
	}
	if !k.Needed(written.Value, now) {
		return false, past, nil
	}
	own := len(live)
	room = append(room, placed[T]{written, own})
	k.sortByWorth(room)
	surplus, isOver := k.surplus(room, now)
	stays = !slices.Contains(surplus, own)
	if isOver && stays {
		return false, nil, fault.Newf(fault.Conflict, "at most %d of the %s records, of at most %d KiB together, can be "+
			"pinned", k.Limit, k.Name, k.MaxBytes>>10)
	}
	surplus = slices.DeleteFunc(surplus, func(place int) bool { return place == own })
	return stays, append(past, surplus...), nil
}

// Live says which of many records are live that are written together: those that a prompt may need, as many as may be
// live at once. Those that must be kept stay live in any case.
func (k Kind[T]) Live(all []Sized[T], now time.Time) []bool {
	live := make([]bool, len(all))
	var room []placed[T]
	for i, r := range all {
		if live[i] = k.Needed(r.Value, now); live[i] {
			room = append(room, placed[T]{r, i})
		}
	}
	slices.SortStableFunc(room, func(a, b placed[T]) int { return k.Before(a.Value, b.Value) })
	surplus, _ := k.surplus(room, now)
	for _, place := range surplus {
		live[place] = false
	}
	return live
}

// placed is a record with its place in the caller's list.
type placed[T any] struct {
	Sized[T]
	place int
}

// surplus returns the places of the first records that have to go so that the others are within the bounds. Those that
// must be kept stay. isOver says that they alone pass the bounds.
func (k Kind[T]) surplus(room []placed[T], now time.Time) (places []int, isOver bool) {
	records, bytes := len(room)-k.Limit, -k.MaxBytes
	for _, r := range room {
		bytes += r.Bytes
	}
	for _, r := range room {
		if records <= 0 && bytes <= 0 {
			break
		}
		if !k.Keep(r.Value, now) {
			places = append(places, r.place)
			records--
			bytes -= r.Bytes
		}
	}
	return places, records > 0 || bytes > 0
}

// sortByWorth sorts records by which becomes past first: those of the group that has the most, and of one group as
// Before orders them.
func (k Kind[T]) sortByWorth(records []placed[T]) {
	slices.SortStableFunc(records, func(a, b placed[T]) int { return k.Before(a.Value, b.Value) })
	if k.Group == nil {
		return
	}
	// A record's rank counts how many records of its group are worth more.
	ranks, counts := make(map[int]int, len(records)), map[string]int{}
	for _, r := range slices.Backward(records) {
		of := k.Group(r.Value)
		ranks[r.place] = counts[of]
		counts[of]++
	}
	slices.SortStableFunc(records, func(a, b placed[T]) int { return ranks[b.place] - ranks[a.place] })
}
