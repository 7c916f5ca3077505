package dynamo_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/conversation/storetest"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

const alice, bob = conversation.UserID("alice#1"), conversation.UserID("bob")

var noKey conversation.Idempotency

// clock is a time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: storetest.Now} }

func (c *clock) option() dynamo.Option {
	return dynamo.WithClock(func() time.Time {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.now
	})
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestSingletons(t *testing.T) {
	s := dynamotest.New(t, atNow())
	checkSingleton(t, s.Profiles(), longterm.Profile{Name: "Ann", Email: "a@b.c", CreatedAt: storetest.Now, About: "x"}, longterm.Profile{Name: "B"}, true)
	checkSingleton(t, s.Seeds(), longterm.Seed{Content: "runs"}, longterm.Seed{Content: "swims"}, true)
	checkSingleton(t, s.UserSummaries(),
		longterm.UserSummary{Patterns: []string{"a", "b"}, Wins: []string{"c"}, LastUpdated: storetest.Now}, longterm.UserSummary{Struggles: []string{"d"}}, true)
	checkSingleton(t, s.Preferences(),
		longterm.Preferences{CrossContext: true, Unshared: map[string]bool{"workout_log": true}, Timezone: "Asia/Kolkata"}, longterm.DefaultPreferences(), false)
	access, err := s.Access(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(longterm.Access{Preferences: longterm.DefaultPreferences()}, access); diff != "" {
		t.Errorf("access of a user without records (-want +got):\n%s", diff)
	}
}

func checkSingleton[T any](t *testing.T, s longterm.Singleton[T], first, second T, missing bool) {
	t.Helper()
	if _, err := s.Get(t.Context(), alice); fault.Is(err, fault.NotFound) != missing {
		t.Errorf("get before any put: %v", err)
	}
	for _, want := range []T{first, second} {
		put, err := s.Put(t.Context(), alice, want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]T{want, want}, []T{put, got}); diff != "" {
			t.Errorf("put and read back (-want +got):\n%s", diff)
		}
	}
	if _, err := s.Get(t.Context(), bob); fault.Is(err, fault.NotFound) != missing {
		t.Errorf("get another user's: %v", err)
	}
}

func TestCollection(t *testing.T) {
	s := dynamotest.New(t, atNow())
	goals := s.Goals()
	idem := conversation.Idempotency{Scope: "POST /v1/goals", Key: "k", BodyHash: "h"}
	want := longterm.Goal{Title: "Run", Status: longterm.GoalActive, GoalType: longterm.Habit, CreatedAt: storetest.Now, UpdatedAt: storetest.Now}
	first, replayed, err := goals.Create(t.Context(), alice, want, idem)
	if err != nil || replayed || first.ID == "" {
		t.Fatalf("create: %+v, replayed %v, %v", first, replayed, err)
	}
	want.ID = first.ID
	again, replayed, err := goals.Create(t.Context(), alice, want, idem)
	if err != nil || !replayed {
		t.Fatalf("repeat: replayed %v, %v", replayed, err)
	}
	if diff := cmp.Diff([]longterm.Goal{want, want}, []longterm.Goal{first, again}); diff != "" {
		t.Errorf("created and replayed (-want +got):\n%s", diff)
	}
	idem.BodyHash = "other"
	if _, _, err := goals.Create(t.Context(), alice, want, idem); !fault.Is(err, fault.IdempotencyMismatch) {
		t.Errorf("another body: %v", err)
	}
	if _, err := goals.Get(t.Context(), bob, first.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another user's goal: %v", err)
	}
	done, err := goals.Update(t.Context(), alice, first.ID, func(g *longterm.Goal) error {
		g.Status = longterm.GoalCompleted
		return nil
	})
	if err != nil || done.Status != longterm.GoalCompleted {
		t.Fatalf("update: %+v, %v", done, err)
	}
	own := errors.New("own")
	if _, err := goals.Update(t.Context(), alice, first.ID, func(*longterm.Goal) error { return own }); !errors.Is(err, own) {
		t.Errorf("an error of the change comes back as %v", err)
	}
	snap, err := s.LongTerm(t.Context(), alice)
	if err != nil || len(snap.Goals) != 0 {
		t.Errorf("a completed goal is live: %v, %v", snap.Goals, err)
	}
	if got, err := goals.Get(t.Context(), alice, first.ID); err != nil || got.Status != longterm.GoalCompleted {
		t.Errorf("a past goal reads as %+v, %v", got, err)
	}
	if err := goals.Delete(t.Context(), alice, first.ID); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"get": second(goals.Get(t.Context(), alice, first.ID)), "delete": goals.Delete(t.Context(), alice, first.ID),
		"foreign id": goals.Delete(t.Context(), alice, "goal_x"),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s of a deleted goal: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestCollectionListsLiveAndPast(t *testing.T) {
	clk := newClock()
	s := dynamotest.New(t, clk.option())
	var want []string
	for i := range 7 {
		clk.advance(time.Minute)
		g := longterm.Goal{Title: fmt.Sprint(i), Status: longterm.GoalActive, CreatedAt: storetest.Now.Add(time.Duration(i) * time.Minute)}
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
		page := conversation.Page{Limit: limit}
		for {
			goals, next, err := s.Goals().List(t.Context(), alice, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range goals {
				got = append(got, g.ID)
			}
			if page.After = next; next == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by %d (-want +got):\n%s", limit, diff)
		}
	}
}

func TestTodosBecomePast(t *testing.T) {
	clk := newClock()
	s := dynamotest.New(t, clk.option())
	add := func(status longterm.TodoStatus, completed time.Time) longterm.Todo {
		t.Helper()
		todo, _, err := s.Todos().Create(t.Context(), alice, longterm.Todo{
			CoachID: "c", Content: "x", Status: status, CompletedAt: completed, CreatedAt: storetest.Now,
		}, noKey)
		if err != nil {
			t.Fatal(err)
		}
		return todo
	}
	open := add(longterm.Pending, time.Time{})
	won := add(longterm.TodoCompleted, storetest.Now.Add(-time.Hour))
	add(longterm.TodoCompleted, storetest.Now.Add(-49*time.Hour))
	checkTodos(t, s, open.ID, won.ID)
	clk.advance(48 * time.Hour)
	checkTodos(t, s, open.ID)
	later := add(longterm.Pending, time.Time{})
	checkTodos(t, s, open.ID, later.ID)
	if all, _, err := s.Todos().List(t.Context(), alice, conversation.Page{Limit: 50}); err != nil || len(all) != 4 {
		t.Errorf("%d todos are listed, %v", len(all), err)
	}
	if _, err := s.Todos().Update(t.Context(), alice, won.ID, func(t *longterm.Todo) error {
		t.Status, t.CompletedAt = longterm.Pending, time.Time{}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	checkTodos(t, s, open.ID, later.ID, won.ID)
}

func checkTodos(t *testing.T, s *dynamo.Store, want ...string) {
	t.Helper()
	snap, err := s.LongTerm(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, todo := range snap.Todos {
		got[todo.ID] = true
	}
	for _, id := range want {
		if !got[id] {
			t.Errorf("todo %s is not live", id)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d todos are live, want %d", len(got), len(want))
	}
}

func TestMemoriesMakeRoom(t *testing.T) {
	s := dynamotest.New(t, atNow())
	create := func(m longterm.Memory) longterm.Memory {
		t.Helper()
		m.CreatedAt = storetest.Now
		stored, _, err := s.Memories().Create(t.Context(), alice, m, noKey)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	pinned := create(longterm.Memory{Content: "knee", Pinned: true, Source: longterm.Extracted})
	seeded := create(longterm.Memory{Content: "vegan", Source: longterm.Seeded})
	var extracted []longterm.Memory
	for i := range 200 {
		extracted = append(extracted, create(longterm.Memory{Content: fmt.Sprint(i), Source: longterm.Extracted, Confidence: 0.75, MessageIDs: []string{"m"}}))
	}
	snap, err := s.LongTerm(t.Context(), alice)
	if err != nil || len(snap.Memories) != 200 {
		t.Fatalf("%d memories are live, %v", len(snap.Memories), err)
	}
	live := map[string]bool{}
	for _, m := range snap.Memories {
		live[m.ID] = true
	}
	if !live[pinned.ID] || !live[seeded.ID] {
		t.Error("a pinned or a seeded memory made room for an extracted one")
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
	superseded, err := s.Memories().Update(t.Context(), alice, seeded.ID, func(m *longterm.Memory) error {
		m.SupersededBy, m.ValidUntil = pinned.ID, storetest.Now
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	hits, err := s.Resolve(t.Context(), alice, 0, []string{superseded.ID, pinned.ID + "#2", pinned.ID, extracted[0].ID})
	if err != nil || len(hits) != 2 || hits[0].ID != pinned.ID+"#2" || hits[0].Memory.Content != "knee" || hits[1].Memory.ID != extracted[0].ID {
		t.Errorf("resolved %+v, %v", hits, err)
	}
}

func TestCheckInsKeepTheLatest(t *testing.T) {
	s := dynamotest.New(t, atNow())
	for _, d := range []time.Duration{-time.Hour, 0, -time.Minute, -40 * 365 * 24 * time.Hour * 2} {
		if _, _, err := s.CheckIns().Create(t.Context(), alice, longterm.CheckIn{Timestamp: storetest.Now.Add(d), Note: d.String(), Tokens: 3}, noKey); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := s.LongTerm(t.Context(), alice)
	if err != nil || snap.LatestCheckIn == nil || snap.LatestCheckIn.Note != "0s" {
		t.Fatalf("latest check-in %+v, %v", snap.LatestCheckIn, err)
	}
	list, _, err := s.CheckIns().List(t.Context(), alice, conversation.Page{Limit: 10})
	if err != nil || len(list) != 4 || list[0].Note != "0s" || list[1].Note != "-1m0s" {
		t.Errorf("check-ins %+v, %v", list, err)
	}
	hits, err := s.Resolve(t.Context(), alice, 0, []string{list[2].ID + "#p1", list[0].ID})
	if err != nil || len(hits) != 2 || hits[0].CheckIn.Note != "-1h0m0s" {
		t.Errorf("resolved %+v, %v", hits, err)
	}
}

func TestUpdatesAtOnceAreAllKept(t *testing.T) {
	s := dynamotest.New(t, atNow())
	m, _, err := s.Memories().Create(t.Context(), alice, longterm.Memory{Content: "x", CreatedAt: storetest.Now}, noKey)
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
					m.ValidUntil = storetest.Now.Add(-time.Hour)
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

func TestCoaches(t *testing.T) {
	s := dynamotest.New(t, atNow())
	for _, id := range []string{"b", "a", "c"} {
		if _, err := s.PutCoach(t.Context(), alice, longterm.Coach{ID: id, Name: "Coach " + id, Persona: "kind", Model: "m"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Coach(t.Context(), alice, "a")
	if diff := cmp.Diff(longterm.Coach{ID: "a", Name: "Coach a", Persona: "kind", Model: "m"}, got); diff != "" || err != nil {
		t.Errorf("coach (-want +got):\n%s%v", diff, err)
	}
	list, next, err := s.Coaches(t.Context(), alice, conversation.Page{Limit: 2})
	if err != nil || len(list) != 2 || list[0].ID != "a" || next == "" {
		t.Fatalf("first page %v, %q, %v", list, next, err)
	}
	list, next, err = s.Coaches(t.Context(), alice, conversation.Page{Limit: 2, After: next})
	if err != nil || len(list) != 1 || list[0].ID != "c" || next != "" {
		t.Errorf("second page %v, %q, %v", list, next, err)
	}
	snap, err := s.LongTerm(t.Context(), alice)
	if err != nil || len(snap.Coaches) != 3 {
		t.Errorf("the snapshot has coaches %v, %v", snap.Coaches, err)
	}
	if err := s.DeleteCoach(t.Context(), alice, "a"); err != nil {
		t.Error(err)
	}
	if err := s.DeleteCoach(t.Context(), alice, "a"); !fault.Is(err, fault.NotFound) {
		t.Errorf("delete a coach twice: %v", err)
	}
	if _, err := s.PutCoach(t.Context(), alice, longterm.Coach{ID: "a#b"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a coach id with a separator: %v", err)
	}
}
