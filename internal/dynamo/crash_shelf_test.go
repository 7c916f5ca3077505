package dynamo_test

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/storetest"
)

// shelf is one collection as the test works on it: records that have a name, and are live or past.
type shelf struct {
	kind   string
	create func(ctx context.Context, s storetest.Stores, user conversation.UserID, r entry, idem conversation.Idempotency) (id string, err error)
	change func(ctx context.Context, s storetest.Stores, user conversation.UserID, id string, r entry) error
	remove func(ctx context.Context, s storetest.Stores, user conversation.UserID, id string) error
	// look lists the records, and returns the names of the live ones in their order.
	look func(w *world, record func(name, id, value string)) ([]string, error)
}

// entry is what is stored on a shelf. source is the message that a memory is drawn from.
type entry struct {
	name, source string
	live         bool
	at           time.Time
}

// born is when the record was created: at the entry's time, unless it has been before.
func (e entry) born(before time.Time) time.Time {
	if before.IsZero() {
		return e.at
	}
	return before
}

func (e entry) value() string {
	if e.live {
		return "live"
	}
	return "past"
}

// shelves are the collections; the check-ins, of which the newest alone is live, stand last.
func shelves() []shelf {
	return []shelf{
		newShelf("goal", func(s storetest.Stores) longterm.Collection[longterm.Goal] { return s.Goals }, func(g *longterm.Goal) (*string, *string) { return &g.ID, &g.Title },
			func(g *longterm.Goal, e entry) {
				g.Status = longterm.GoalPaused
				if e.live {
					g.Status = longterm.GoalActive
				}
				g.CreatedAt = e.born(g.CreatedAt)
			},
			func(g longterm.Goal) bool { return g.Status == longterm.GoalActive }),
		newShelf("todo", func(s storetest.Stores) longterm.Collection[longterm.Todo] { return s.Todos }, func(t *longterm.Todo) (*string, *string) { return &t.ID, &t.Content },
			func(t *longterm.Todo, e entry) {
				t.Status, t.CompletedAt = longterm.TodoCompleted, storetest.Now.Add(-longterm.WinWindow)
				if e.live {
					t.Status, t.CompletedAt = longterm.Pending, time.Time{}
				}
				t.CreatedAt = e.born(t.CreatedAt)
			},
			func(t longterm.Todo) bool { return t.Status == longterm.Pending }),
		newShelf("memory", func(s storetest.Stores) longterm.Collection[longterm.Memory] { return s.Memories }, func(m *longterm.Memory) (*string, *string) { return &m.ID, &m.Content },
			func(m *longterm.Memory, e entry) {
				m.SupersededBy, m.CreatedAt = "another", e.born(m.CreatedAt)
				if e.live {
					m.SupersededBy = ""
				}
				if e.source != "" {
					m.Source, m.MessageIDs = longterm.Extracted, []string{e.source}
				}
			},
			func(m longterm.Memory) bool { return m.SupersededBy == "" }),
		newShelf("check-in", func(s storetest.Stores) longterm.Collection[longterm.CheckIn] { return s.CheckIns }, func(c *longterm.CheckIn) (*string, *string) { return &c.ID, &c.Note },
			func(c *longterm.CheckIn, e entry) { c.Timestamp = e.born(c.Timestamp) },
			func(longterm.CheckIn) bool { return true }),
	}
}

func newShelf[T any](kind string, of func(storetest.Stores) longterm.Collection[T], fields func(*T) (id, name *string), set func(*T, entry), live func(T) bool) shelf {
	return shelf{
		kind: kind,
		create: func(ctx context.Context, s storetest.Stores, user conversation.UserID, e entry, idem conversation.Idempotency) (string, error) {
			var v T
			_, name := fields(&v)
			*name = e.name
			set(&v, e)
			stored, _, err := of(s).Create(ctx, user, v, idem)
			id, _ := fields(&stored)
			return *id, err
		},
		change: func(ctx context.Context, s storetest.Stores, user conversation.UserID, id string, e entry) error {
			return second(of(s).Update(ctx, user, id, func(v *T) error { set(v, e); return nil }))
		},
		remove: func(ctx context.Context, s storetest.Stores, user conversation.UserID, id string) error {
			return of(s).Delete(ctx, user, id)
		},
		look: func(w *world, record func(name, id, value string)) (names []string, err error) {
			list, _, err := of(w.plain).List(w.t.Context(), w.user, conversation.Page{Limit: 200})
			for _, v := range list {
				id, name := fields(&v)
				e := entry{live: live(v)}
				record(kind+"/"+*name, *id, e.value())
				if e.live {
					names = append(names, kind+"/"+*name)
				}
			}
			return names, err
		},
	}
}
