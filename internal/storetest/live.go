package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// live reads what a prompt reads of alice.
func live(t *testing.T, s Store) longterm.Snapshot {
	t.Helper()
	snap, err := s.LongTerm(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func testGoalsBecomePast(t *testing.T, s *stand) {
	g, _, err := s.Goals().Create(t.Context(), alice, longterm.Goal{Title: "x", Status: longterm.GoalActive, CreatedAt: Now, UpdatedAt: Now}, noKey)
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[longterm.GoalStatus]int{
		longterm.GoalPaused: 0, longterm.GoalActive: 1, longterm.GoalCompleted: 0, longterm.GoalAbandoned: 0,
	} {
		if _, err := s.Goals().Update(t.Context(), alice, g.ID, func(g *longterm.Goal) error { g.Status = status; return nil }); err != nil {
			t.Fatal(err)
		}
		if got := live(t, s).Goals; len(got) != want {
			t.Errorf("%d goals that are %s are live", len(got), status)
		}
		if got, err := s.Goals().Get(t.Context(), alice, g.ID); err != nil || got.Status != status {
			t.Errorf("a goal that is %s reads as %+v, %v", status, got, err)
		}
	}
}

func testTodosBecomePast(t *testing.T, s *stand) {
	add := func(status longterm.TodoStatus, completed time.Time) string {
		t.Helper()
		todo, _, err := s.Todos().Create(t.Context(), alice, longterm.Todo{
			CoachID: "c", Content: "x", Status: status, CompletedAt: completed, CreatedAt: Now, UpdatedAt: Now,
		}, noKey)
		if err != nil {
			t.Fatal(err)
		}
		return todo.ID
	}
	open, won := add(longterm.Pending, time.Time{}), add(longterm.TodoCompleted, Now.Add(-time.Hour))
	add(longterm.TodoCompleted, Now.Add(-49*time.Hour))
	checkTodos(t, s, open, won)
	s.advance(longterm.WinWindow)
	checkTodos(t, s, open)
	later := add(longterm.Pending, time.Time{})
	checkTodos(t, s, open, later)
	if all, _, err := s.Todos().List(t.Context(), alice, conversation.Page{Limit: 50}); err != nil || len(all) != 4 {
		t.Errorf("%d todos are listed, %v", len(all), err)
	}
	_, err := s.Todos().Update(t.Context(), alice, won, func(t *longterm.Todo) error {
		t.Status, t.CompletedAt = longterm.Pending, time.Time{}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkTodos(t, s, open, later, won)
}

func checkTodos(t *testing.T, s *stand, want ...string) {
	t.Helper()
	var got []string
	for _, todo := range live(t, s).Todos {
		got = append(got, todo.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("live todos (-want +got):\n%s", diff)
	}
}

func testCheckInsKeepTheLatest(t *testing.T, s *stand) {
	for _, d := range []time.Duration{-time.Hour, 0, -time.Minute, -40 * 365 * 24 * time.Hour * 2} {
		if _, _, err := s.CheckIns().Create(t.Context(), alice, longterm.CheckIn{Timestamp: Now.Add(d), Note: d.String(), Tokens: 3}, noKey); err != nil {
			t.Fatal(err)
		}
	}
	if got := live(t, s).LatestCheckIn; got == nil || got.Note != "0s" {
		t.Fatalf("latest check-in %+v", got)
	}
	list, _, err := s.CheckIns().List(t.Context(), alice, conversation.Page{Limit: 10})
	if err != nil || len(list) != 4 || list[0].Note != "0s" || list[1].Note != "-1m0s" {
		t.Errorf("check-ins %+v, %v", list, err)
	}
}

// mostMemories is how many memories a prompt has to read at most (design 3, "capped per kind").
const mostMemories = 200

func testMemoriesMakeRoom(t *testing.T, s *stand) {
	create := func(m longterm.Memory) longterm.Memory {
		t.Helper()
		m.CreatedAt, m.UpdatedAt = Now, Now
		stored, _, err := s.Memories().Create(t.Context(), alice, m, noKey)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	pinned := create(longterm.Memory{Content: "knee", Pinned: true, Source: longterm.Extracted})
	seeded := create(longterm.Memory{Content: "vegan", Source: longterm.Seeded})
	var extracted []longterm.Memory
	for i := range mostMemories {
		extracted = append(extracted, create(longterm.Memory{Content: fmt.Sprint(i), Source: longterm.Extracted, MessageIDs: []string{"m"}}))
	}
	kept := map[string]bool{}
	for _, m := range live(t, s).Memories {
		kept[m.ID] = true
	}
	if len(kept) != mostMemories || !kept[pinned.ID] || !kept[seeded.ID] {
		t.Errorf("%d memories are live, the pinned one %v, the seeded one %v", len(kept), kept[pinned.ID], kept[seeded.ID])
	}
	for _, m := range extracted {
		got, err := s.Memories().Get(t.Context(), alice, m.ID)
		if err != nil {
			t.Fatalf("a memory that made room is gone: %v", err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
	}
	all := pages(t, conversation.Page{Limit: 75}, func(p conversation.Page) ([]longterm.Memory, conversation.Position, error) {
		return s.Memories().List(t.Context(), alice, p)
	})
	if len(all) != mostMemories+2 {
		t.Errorf("%d memories are listed", len(all))
	}
}
