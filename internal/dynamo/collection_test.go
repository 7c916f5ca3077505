package dynamo_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestCollections(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	checkCollection(t, "goal", s.Goals, func(g *longterm.Goal) *string { return &g.ID },
		longterm.Goal{
			Title: "Run", Status: longterm.GoalActive, GoalType: longterm.Habit, CreatedAt: start, UpdatedAt: start,
		},
		func(g *longterm.Goal) { g.Status = longterm.GoalCompleted })
	checkCollection(t, "check-in", s.CheckIns, func(c *longterm.CheckIn) *string { return &c.ID },
		longterm.CheckIn{Timestamp: start, Note: "slept", Tokens: 2}, func(c *longterm.CheckIn) { c.Note = "" })
	checkCollection(t, "memory", s.Memories, func(m *longterm.Memory) *string { return &m.ID },
		longterm.Memory{
			Type: longterm.PeopleMemory, Content: "has a dog", Pinned: true, Source: longterm.Extracted,
			Confidence: 0.75, Rated: true, MessageIDs: []string{"a", "b"}, ValidUntil: start.Add(time.Hour),
			Status: longterm.Reported, About: "Mia", Until: longterm.Moment{Day: "2030-11-20"}, SaidAt: start.Add(-time.Hour),
			ExpiresAt: time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC), CreatedAt: start, UpdatedAt: start, Tokens: 3,
		},
		func(m *longterm.Memory) {
			m.SupersededBy, m.ValidUntil, m.EndedReason = "another", start, longterm.EndedReplaced
			m.Until, m.About = longterm.Moment{Time: start}, ""
		})
	checkValues(t, "unrated memory", s.Memories, func(m *longterm.Memory) *string { return &m.ID },
		longterm.Memory{
			Type: longterm.ProjectMemory, Content: "may move", Source: longterm.Seeded, Rated: true,
			CreatedAt: start, UpdatedAt: start,
		},
		func(m *longterm.Memory) { m.Rated = false }, func(longterm.Memory) {})
	checkCollection(t, "todo", s.Todos, func(t *longterm.Todo) *string { return &t.ID },
		longterm.Todo{Content: "call", CoachID: "c", Status: longterm.Pending, CreatedAt: start, UpdatedAt: start, Tokens: 1},
		func(t *longterm.Todo) { t.Status, t.CompletedAt = longterm.TodoCompleted, start })
	checkValues(t, "promise", s.Todos, func(t *longterm.Todo) *string { return &t.ID },
		longterm.Todo{
			Content: "send the plan", CoachID: "c", Status: longterm.Pending, By: longterm.ByAssistant,
			Due: longterm.Moment{Day: "2026-11-20"}, CreatedAt: start, UpdatedAt: start,
		},
		func(t *longterm.Todo) {
			t.Status, t.Due = longterm.TodoCancelled, longterm.Moment{Time: start}
		},
		func(longterm.Todo) {})
}

// checkCollection creates, reads, updates and deletes one record. Its creation is repeated after each step.
func checkCollection[T any](
	t *testing.T, kind string, c longterm.Collection[T], id func(*T) *string, want T, change func(*T),
) {
	t.Helper()
	want = checkValues(t, kind, c, id, want, change, func(first T) { checkReplay(t, kind, c, first, 1) })
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

// checkValues creates, reads and updates one record, and calls after each time with the record as it was created.
func checkValues[T any](
	t *testing.T, kind string, c longterm.Collection[T], id func(*T) *string, want T, change func(*T), after func(T),
) T {
	t.Helper()
	first, replayed, err := c.Create(t.Context(), alice, want, idempotencyKey("POST", kind))
	if err != nil || replayed || *id(&first) == "" {
		t.Fatalf("%s: create: %+v, replayed %v, %v", kind, first, replayed, err)
	}
	*id(&want) = *id(&first)
	got, err := c.Get(t.Context(), alice, *id(&want))
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	check.Same(t, []T{want, want}, []T{first, got}, "%s: created and read back", kind)
	after(want)
	changed := want
	change(&changed)
	stored, err := c.Update(t.Context(), alice, *id(&want), func(v *T) error { change(v); return nil })
	if err != nil {
		t.Fatalf("%s: update: %v", kind, err)
	}
	if got, err = c.Get(t.Context(), alice, *id(&want)); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	check.Same(t, []T{changed, changed}, []T{stored, got}, "%s: changed and read back", kind)
	after(want)
	return want
}

// create stores a record of alice and returns it as it is stored.
func create[T any](t *testing.T, c longterm.Collection[T], record T) T {
	t.Helper()
	stored, _, err := c.Create(t.Context(), alice, record, noKey)
	check.OK(t, err)
	return stored
}

func idempotencyKey(scope, key string) conversation.Idempotency {
	return conversation.Idempotency{Scope: scope, Key: key, BodyHash: "h"}
}

// checkReplay repeats Create with its idempotency key. The answer must be the first one, even where the record was
// changed or deleted since, and nothing may be stored.
func checkReplay[T any](t *testing.T, kind string, c longterm.Collection[T], first T, listed int) {
	t.Helper()
	again, replayed, err := c.Create(t.Context(), alice, first, idempotencyKey("POST", kind))
	if err != nil || !replayed {
		t.Fatalf("%s: repeat: replayed %v, %v", kind, replayed, err)
	}
	check.Same(t, first, again, "%s: the repeat answers", kind)
	other := idempotencyKey("POST", kind)
	other.BodyHash = "another"
	checkFault(t, errorOf3(c.Create(t.Context(), alice, first, other)), fault.IdempotencyMismatch, "%s: another body",
		kind)
	if list, _, err := c.List(t.Context(), alice, conversation.Page{Limit: 10}); err != nil || len(list) != listed {
		t.Errorf("%s: %d are listed after the repeats, want %d, %v", kind, len(list), listed, err)
	}
}

// checkMissing checks that the user has no record with that id.
func checkMissing[T any](t *testing.T, kind string, c longterm.Collection[T], user conversation.UserID, id string) {
	t.Helper()
	for op, err := range map[string]error{
		"get":    errorOf(c.Get(t.Context(), user, id)),
		"delete": c.Delete(t.Context(), user, id),
		"update": errorOf(c.Update(t.Context(), user, id, func(*T) error { return nil })),
	} {
		checkFault(t, err, fault.NotFound, "%s: %s a record that %s does not have", kind, op, user)
	}
}

// allRecords reads alice's records of a kind, live and past, in pages of at most limit.
func allRecords[T any](t *testing.T, c longterm.Collection[T], limit int) []T {
	t.Helper()
	return allPages(t, conversation.Page{Limit: limit}, func(p conversation.Page) ([]T, conversation.Position, error) {
		return c.List(t.Context(), alice, p)
	})
}

// TestCollectionPages checks that live and past records come as one list, newest first.
func TestCollectionPages(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var want []string
	for i := range 7 {
		s.advance(time.Minute)
		g := longterm.Goal{Title: fmt.Sprint(i), Status: longterm.GoalActive, CreatedAt: s.clock(), UpdatedAt: s.clock()}
		if i%2 == 1 {
			g.Status = longterm.GoalPaused
		}
		stored := create(t, s.Goals, g)
		want = append([]string{stored.ID}, want...)
	}
	for _, limit := range []int{1, 3, 7, 50} {
		got := idsOf(allRecords(t, s.Goals, limit), func(g longterm.Goal) string { return g.ID })
		check.Same(t, want, got, "pages of %d", limit)
	}
	_, _, err := s.Goals.List(t.Context(), alice, conversation.Page{Limit: 1, After: "x"})
	checkField(t, err, "cursor")
}

// TestEditedMemories expects the time of the app's last change of a memory's words, and of nothing else of it.
func TestEditedMemories(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	m := create(t, s.Memories, longterm.Memory{Content: "Takes 3 mg."})
	for i, step := range []struct {
		content string
		want    time.Time
	}{{"Takes 3 mg.", time.Time{}}, {"Takes 5 mg.", start.Add(time.Hour)}, {"takes 5 mg", start.Add(time.Hour)}} {
		got := check.Got(s.Memories.Update(t.Context(), alice, m.ID, func(m *longterm.Memory) error {
			m.Content, m.Pinned, m.UpdatedAt = step.content, true, start.Add(time.Duration(i)*time.Hour)
			return nil
		}))(t)
		check.Equal(t, step.want, got.EditedAt, "step %d", i)
	}
}

func TestConcurrentUpdates(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	m := create(t, s.Memories, longterm.Memory{Content: "x", CreatedAt: start})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := s.Memories.Update(t.Context(), alice, m.ID, func(m *longterm.Memory) error {
				m.MessageIDs = append(m.MessageIDs, fmt.Sprint(i))
				m.ValidUntil = time.Time{}
				if i%2 == 0 {
					m.ValidUntil = start.Add(-time.Hour)
				}
				return nil
			})
			if err != nil {
				t.Errorf("update %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if got, err := s.Memories.Get(t.Context(), alice, m.ID); err != nil || len(got.MessageIDs) != 8 {
		t.Errorf("8 updates left %v, %v", got.MessageIDs, err)
	}
}

// snapshot reads the live long-term records of alice, as a prompt does.
func snapshot(t *testing.T, s *fixture) longterm.Snapshot {
	t.Helper()
	snap, err := s.PromptSource.LongTerm(t.Context(), alice)
	check.OK(t, err)
	return snap
}

func TestGoalsBecomePast(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	in := longterm.Goal{Title: "x", Status: longterm.GoalActive, CreatedAt: start, UpdatedAt: start}
	g := create(t, s.Goals, in)
	for status, want := range map[longterm.GoalStatus]int{
		longterm.GoalPaused: 0, longterm.GoalActive: 1, longterm.GoalCompleted: 0, longterm.GoalAbandoned: 0,
	} {
		setStatus := func(g *longterm.Goal) error { g.Status = status; return nil }
		check.Got(s.Goals.Update(t.Context(), alice, g.ID, setStatus))(t)
		if got := snapshot(t, s).Goals; len(got) != want {
			t.Errorf("%d goals that are %s are live", len(got), status)
		}
		if got, err := s.Goals.Get(t.Context(), alice, g.ID); err != nil || got.Status != status {
			t.Errorf("a goal that is %s reads as %+v, %v", status, got, err)
		}
	}
}

func TestTodosBecomePast(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	add := func(status longterm.TodoStatus, completed time.Time) string {
		t.Helper()
		return create(t, s.Todos, longterm.Todo{
			CoachID: "c", Content: "x", Status: status, CompletedAt: completed, CreatedAt: start, UpdatedAt: start,
		}).ID
	}
	open, won := add(longterm.Pending, time.Time{}), add(longterm.TodoCompleted, start.Add(-time.Hour))
	add(longterm.TodoCompleted, start.Add(-49*time.Hour))
	checkTodos(t, s, open, won)
	s.advance(longterm.WinWindow)
	checkTodos(t, s, open)
	later := add(longterm.Pending, time.Time{})
	checkTodos(t, s, open, later)
	if all, _, err := s.Todos.List(t.Context(), alice, conversation.Page{Limit: 50}); err != nil || len(all) != 4 {
		t.Errorf("%d todos are listed, %v", len(all), err)
	}
	_, err := s.Todos.Update(t.Context(), alice, won, func(t *longterm.Todo) error {
		t.Status, t.CompletedAt = longterm.Pending, time.Time{}
		return nil
	})
	check.OK(t, err)
	checkTodos(t, s, open, later, won)
}

func checkTodos(t *testing.T, s *fixture, want ...string) {
	t.Helper()
	got := idsOf(snapshot(t, s).Todos, func(todo longterm.Todo) string { return todo.ID })
	slices.Sort(got)
	slices.Sort(want)
	check.Same(t, want, got, "live todos")
}

func TestLatestCheckIn(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, d := range []time.Duration{-time.Hour, 0, -time.Minute, -40 * 365 * 24 * time.Hour * 2} {
		c := longterm.CheckIn{Timestamp: start.Add(d), Note: d.String(), Tokens: 3}
		create(t, s.CheckIns, c)
	}
	if got := snapshot(t, s).LatestCheckIn; got == nil || got.Note != "0s" {
		t.Fatalf("latest check-in %+v", got)
	}
	list, _, err := s.CheckIns.List(t.Context(), alice, conversation.Page{Limit: 10})
	if err != nil || len(list) != 4 || list[0].Note != "0s" || list[1].Note != "-1m0s" {
		t.Errorf("check-ins %+v, %v", list, err)
	}
}

// maxLiveMemories is the cap on the memories that a prompt reads (docs/reference/access-patterns.md).
const maxLiveMemories = 200

func TestLiveMemoriesAreCapped(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	create := func(m longterm.Memory) longterm.Memory {
		t.Helper()
		m.CreatedAt, m.UpdatedAt = start, start
		stored := create(t, s.Memories, m)
		return stored
	}
	pinned := create(longterm.Memory{Content: "knee", Pinned: true, Source: longterm.Extracted})
	seeded := create(longterm.Memory{Content: "vegan", Source: longterm.Seeded})
	var extracted []longterm.Memory
	for i := range maxLiveMemories - 5 {
		extracted = append(extracted, newFact(fmt.Sprintf("%03d", i), start))
	}
	s.extract(t, extracted, nil)
	for range 5 {
		m := longterm.Memory{Content: "more", Source: longterm.Extracted, MessageIDs: []string{"m"}}
		extracted = append(extracted, create(m))
	}
	live := map[string]bool{}
	for _, m := range snapshot(t, s).Memories {
		live[m.ID] = true
	}
	if len(live) != maxLiveMemories || !live[pinned.ID] || !live[seeded.ID] {
		t.Errorf("%d memories are live, the pinned one %v, the seeded one %v", len(live), live[pinned.ID], live[seeded.ID])
	}
	all := map[string]longterm.Memory{}
	for _, m := range allRecords(t, s.Memories, 75) {
		all[m.ID] = m
	}
	if len(all) != maxLiveMemories+2 {
		t.Errorf("%d memories are listed", len(all))
	}
	for _, m := range extracted {
		check.Same(t, m, all[m.ID], "listed")
		if live[m.ID] {
			continue
		}
		got, err := s.Memories.Get(t.Context(), alice, m.ID)
		if err != nil {
			t.Fatalf("a memory past the cap was lost: %v", err)
		}
		check.Same(t, m, got, "read back")
	}
}

// TestMemoryExpires has a memory with a time to live: after it, nobody reads the memory, whether or not the engine has
// deleted it.
func TestMemoryExpires(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	m := longterm.Memory{
		Type: longterm.ProfileMemory, Content: "of the hour", Source: longterm.Seeded, CreatedAt: start, UpdatedAt: start,
		ExpiresAt: start.Add(time.Hour).Truncate(time.Second),
	}
	stored := create(t, s.Memories, m)
	check.Got(s.Memories.Get(t.Context(), alice, stored.ID))(t)
	s.advance(time.Hour + time.Second)
	checkFault(t, errorOf(s.Memories.Get(t.Context(), alice, stored.ID)), fault.NotFound, "after an hour")
	list, _, err := s.Memories.List(t.Context(), alice, conversation.Page{Limit: 10})
	if err != nil || len(list) != 0 {
		t.Errorf("listed %+v, %v", list, err)
	}
}
