package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestSingletons(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	checkSingleton(t, s.Profiles,
		longterm.Profile{Name: "Ann", Email: "a@b.c", CreatedAt: start, About: "x"}, longterm.Profile{Name: "B"}, true)
	checkSingleton(t, s.Seeds, longterm.Seed{Content: "runs"}, longterm.Seed{Content: "swims"}, true)
	checkSingleton(t, s.UserSummaries,
		longterm.UserSummary{Patterns: []string{"a", "b"}, Wins: []string{"c"}, LastUpdated: start, StoredAt: start},
		longterm.UserSummary{Struggles: []string{"d"}, StoredAt: start}, true)
	checkSingleton(t, s.Preferences,
		longterm.Preferences{
			CrossContext: true, Unshared: map[string]bool{"workout_log": true}, Timezone: "Asia/Kolkata",
		},
		longterm.DefaultPreferences(), false)
	snap, err := s.PromptSource.LongTerm(t.Context(), alice)
	check.OK(t, err)
	want := longterm.Snapshot{
		Profile: &longterm.Profile{Name: "B"}, Seed: &longterm.Seed{Content: "swims"},
		UserSummary: &longterm.UserSummary{Struggles: []string{"d"}, StoredAt: start},
		Spines:      map[string]longterm.Spine{}, Coaches: map[string]longterm.Coach{},
	}
	check.Same(t, want, snap, "snapshot")
}

// checkSingleton gets a missing record, puts two records one after the other, and gets the record of another user.
// missing is whether a get before the first put is NotFound.
func checkSingleton[T any](t *testing.T, s longterm.Singleton[T], first, then T, missing bool) {
	t.Helper()
	if _, err := s.Get(t.Context(), alice); fault.Is(err, fault.NotFound) != missing {
		t.Errorf("get before any put: %v", err)
	}
	for _, want := range []T{first, then} {
		put, err := s.Put(t.Context(), alice, want)
		check.OK(t, err)
		got, err := s.Get(t.Context(), alice)
		check.OK(t, err)
		check.Same(t, []T{want, want}, []T{put, got}, "put and read back")
	}
	if _, err := s.Get(t.Context(), bob); fault.Is(err, fault.NotFound) != missing {
		t.Errorf("get another user's: %v", err)
	}
}

func TestPreferencesHaveDefaults(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	has := func(user conversation.UserID, want longterm.Preferences) {
		t.Helper()
		got, err := s.Preferences.Get(t.Context(), user)
		check.OK(t, err)
		access, err := s.Recall.Access(t.Context(), user)
		check.OK(t, err)
		check.Same(t, []longterm.Preferences{want, want}, []longterm.Preferences{got, access.Preferences},
			"%s, by themselves and with the generation", user)
	}
	has(alice, longterm.DefaultPreferences())
	set := longterm.Preferences{Timezone: "Pacific/Auckland"}
	check.Got(s.Preferences.Put(t.Context(), alice, set))(t)
	has(alice, set)
	has(bob, longterm.DefaultPreferences())
}

func TestCoaches(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var c longterm.Coach
	for _, id := range []string{"b", "c", "a"} {
		c = longterm.Coach{ID: id, Name: "Coach " + id, Persona: "kind", Model: "m"}
		check.Got(s.Coaches.PutCoach(t.Context(), alice, c))(t)
	}
	got, err := s.Coaches.Coach(t.Context(), alice, "a")
	check.OK(t, err)
	check.Same(t, c, got, "coach")
	for _, limit := range []int{1, 2, 3, 50} {
		var ids []string
		coaches := func(p conversation.Page) ([]longterm.Coach, conversation.Position, error) {
			return s.Coaches.Coaches(t.Context(), alice, p)
		}
		for _, c := range allPages(t, conversation.Page{Limit: limit}, coaches) {
			ids = append(ids, c.ID)
		}
		check.Same(t, []string{"a", "b", "c"}, ids, "pages of %d", limit)
	}
	if in := snapshot(t, s).Coaches; len(in) != 3 || in["b"].Name != "Coach b" {
		t.Errorf("the snapshot has coaches %v", in)
	}
	checkCoachErrors(t, s)
}

func checkCoachErrors(t *testing.T, s *fixture) {
	t.Helper()
	checkFault(t, errorOf(s.Coaches.Coach(t.Context(), bob, "a")), fault.NotFound, "another user's coach")
	checkFault(t, s.Coaches.DeleteCoach(t.Context(), bob, "a"), fault.NotFound, "delete another user's coach")
	check.OK(t, s.Coaches.DeleteCoach(t.Context(), alice, "a"))
	checkFault(t, s.Coaches.DeleteCoach(t.Context(), alice, "a"), fault.NotFound, "delete a coach twice")
	_, err := s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: "a#b"})
	checkField(t, err, "coachId")
	for i := range 98 { // b and c are there
		check.Got(s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: fmt.Sprint("n", i)}))(t)
	}
	checkFault(t, errorOf(s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: "d"})), fault.Conflict,
		"one coach more than the cap")
	if _, err := s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: "b", Name: "again"}); err != nil {
		t.Errorf("replace a coach at the cap: %v", err)
	}
}
