package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

func testCollections(t *testing.T, s *stand) {
	checkCollection(t, "goal", s.Goals(), func(g *longterm.Goal) *string { return &g.ID },
		longterm.Goal{Title: "Run", Status: longterm.GoalActive, GoalType: longterm.Habit, CreatedAt: Now, UpdatedAt: Now},
		func(g *longterm.Goal) { g.Status = longterm.GoalCompleted })
	checkCollection(t, "check-in", s.CheckIns(), func(c *longterm.CheckIn) *string { return &c.ID },
		longterm.CheckIn{Timestamp: Now, Note: "slept", Tokens: 2}, func(c *longterm.CheckIn) { c.Note = "" })
	checkCollection(t, "memory", s.Memories(), func(m *longterm.Memory) *string { return &m.ID },
		longterm.Memory{
			Type: longterm.PeopleMemory, Content: "has a dog", Pinned: true, Source: longterm.Extracted, Confidence: 0.75, Rated: true,
			MessageIDs: []string{"a", "b"}, ValidUntil: Now.Add(time.Hour), CreatedAt: Now, UpdatedAt: Now, Tokens: 3,
		},
		func(m *longterm.Memory) { m.SupersededBy, m.ValidUntil = "another", Now })
	checkCollection(t, "unsure memory", s.Memories(), func(m *longterm.Memory) *string { return &m.ID },
		longterm.Memory{Type: longterm.ProjectMemory, Content: "may move", Source: longterm.Seeded, Rated: true, CreatedAt: Now, UpdatedAt: Now},
		func(m *longterm.Memory) { m.Rated = false })
	checkCollection(t, "todo", s.Todos(), func(t *longterm.Todo) *string { return &t.ID },
		longterm.Todo{Content: "call", CoachID: "c", Status: longterm.Pending, CreatedAt: Now, UpdatedAt: Now, Tokens: 1},
		func(t *longterm.Todo) { t.Status, t.CompletedAt = longterm.TodoCompleted, Now })
}

// checkCollection leads one record through its life.
func checkCollection[T any](t *testing.T, kind string, c longterm.Collection[T], id func(*T) *string, want T, change func(*T)) {
	t.Helper()
	first, replayed, err := c.Create(t.Context(), alice, want, keyOf("POST", kind))
	if err != nil || replayed || *id(&first) == "" {
		t.Fatalf("%s: create: %+v, replayed %v, %v", kind, first, replayed, err)
	}
	*id(&want) = *id(&first)
	got, err := c.Get(t.Context(), alice, *id(&want))
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	if diff := cmp.Diff([]T{want, want}, []T{first, got}); diff != "" {
		t.Errorf("%s: created and read back (-want +got):\n%s", kind, diff)
	}
	checkReplay(t, kind, c, want, 1)
	changed := want
	change(&changed)
	stored, err := c.Update(t.Context(), alice, *id(&want), func(v *T) error { change(v); return nil })
	if err != nil {
		t.Fatalf("%s: update: %v", kind, err)
	}
	if got, err = c.Get(t.Context(), alice, *id(&want)); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	if diff := cmp.Diff([]T{changed, changed}, []T{stored, got}); diff != "" {
		t.Errorf("%s: changed and read back (-want +got):\n%s", kind, diff)
	}
	checkReplay(t, kind, c, want, 1)
	checkMissing(t, kind, c, bob, *id(&want))
	own := errors.New("own")
	if _, err := c.Update(t.Context(), alice, *id(&want), func(*T) error { return own }); !errors.Is(err, own) {
		t.Errorf("%s: an error of the change comes back as %v", kind, err)
	}
	if err := c.Delete(t.Context(), alice, *id(&want)); err != nil {
		t.Fatalf("%s: delete: %v", kind, err)
	}
	checkMissing(t, kind, c, alice, *id(&want))
	checkMissing(t, kind, c, alice, "goal_x#")
	checkReplay(t, kind, c, want, 0)
}

func keyOf(scope, key string) conversation.Idempotency {
	return conversation.Idempotency{Scope: scope, Key: key, BodyHash: "h"}
}

// checkReplay repeats the creation with its idempotency key: the answer is the first one, whatever has become of the
// record, and nothing is stored.
func checkReplay[T any](t *testing.T, kind string, c longterm.Collection[T], first T, listed int) {
	t.Helper()
	again, replayed, err := c.Create(t.Context(), alice, first, keyOf("POST", kind))
	if err != nil || !replayed {
		t.Fatalf("%s: repeat: replayed %v, %v", kind, replayed, err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("%s: the repeat answers (-first +repeat):\n%s", kind, diff)
	}
	other := keyOf("POST", kind)
	other.BodyHash = "another"
	if _, _, err := c.Create(t.Context(), alice, first, other); !fault.Is(err, fault.IdempotencyMismatch) {
		t.Errorf("%s: another body: %v", kind, err)
	}
	if list, _, err := c.List(t.Context(), alice, conversation.Page{Limit: 10}); err != nil || len(list) != listed {
		t.Errorf("%s: %d are listed after the repeats, want %d, %v", kind, len(list), listed, err)
	}
}

// checkMissing holds that a user finds no record of that id.
func checkMissing[T any](t *testing.T, kind string, c longterm.Collection[T], user conversation.UserID, id string) {
	t.Helper()
	for op, err := range map[string]error{
		"get":    second(c.Get(t.Context(), user, id)),
		"delete": c.Delete(t.Context(), user, id),
		"update": second(c.Update(t.Context(), user, id, func(*T) error { return nil })),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %s of what %s does not have: %v", kind, op, user, err)
		}
	}
}

// testCollectionPages lists what is live and what is past as one list, newest first.
func testCollectionPages(t *testing.T, s *stand) {
	var want []string
	for i := range 7 {
		s.advance(time.Minute)
		g := longterm.Goal{Title: fmt.Sprint(i), Status: longterm.GoalActive, CreatedAt: s.clock(), UpdatedAt: s.clock()}
		if i%2 == 1 {
			g.Status = longterm.GoalPaused
		}
		stored, _, err := s.Goals().Create(t.Context(), alice, g, noKey)
		if err != nil {
			t.Fatal(err)
		}
		want = append([]string{stored.ID}, want...)
	}
	for _, limit := range []int{1, 3, 7, 50} {
		var got []string
		for _, g := range pages(t, conversation.Page{Limit: limit}, func(p conversation.Page) ([]longterm.Goal, conversation.Position, error) {
			return s.Goals().List(t.Context(), alice, p)
		}) {
			got = append(got, g.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by %d (-want +got):\n%s", limit, diff)
		}
	}
	_, _, err := s.Goals().List(t.Context(), alice, conversation.Page{Limit: 1, After: "x"})
	checkField(t, err, "cursor")
}

func testUpdatesAtOnce(t *testing.T, s *stand) {
	m, _, err := s.Memories().Create(t.Context(), alice, longterm.Memory{Content: "x", CreatedAt: Now}, noKey)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := s.Memories().Update(t.Context(), alice, m.ID, func(m *longterm.Memory) error {
				m.MessageIDs = append(m.MessageIDs, fmt.Sprint(i))
				m.ValidUntil = time.Time{}
				if i%2 == 0 {
					m.ValidUntil = Now.Add(-time.Hour)
				}
				return nil
			})
			if err != nil {
				t.Errorf("update %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if got, err := s.Memories().Get(t.Context(), alice, m.ID); err != nil || len(got.MessageIDs) != 8 {
		t.Errorf("8 updates left %v, %v", got.MessageIDs, err)
	}
}
