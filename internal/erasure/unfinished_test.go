package erasure_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// live gives a user one of everything, under names of its own.
func (s *stand) live(name string) {
	s.t.Helper()
	s.say(ann, name, name+" 1", name+" 2")
	s.summarize(ann, name)
	s.remember(longterm.Seeded)
	s.keepPrompt(name)
	ctx, none := s.t.Context(), conversation.Idempotency{}
	check := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	check(last(s.store.Profiles().Put(ctx, ann, longterm.Profile{Name: name})))
	check(last(s.store.Seeds().Put(ctx, ann, longterm.Seed{Content: name})))
	check(last(s.store.UserSummaries().Put(ctx, ann, longterm.UserSummary{Wins: []string{name}})))
	check(last(s.store.Preferences().Put(ctx, ann, longterm.Preferences{Timezone: "Asia/Kolkata"})))
	check(last(s.store.PutCoach(ctx, ann, longterm.Coach{ID: name, Name: name})))
	for _, status := range []longterm.GoalStatus{longterm.GoalActive, longterm.GoalPaused} {
		_, _, err := s.store.Goals().Create(ctx, ann, longterm.Goal{Title: name, Status: status, CreatedAt: s.clock()}, none)
		check(err)
	}
	_, _, err := s.store.CheckIns().Create(ctx, ann, longterm.CheckIn{Note: name, Timestamp: s.clock()}, none)
	check(err)
	_, _, err = s.store.Todos().Create(ctx, ann, longterm.Todo{Content: name, Status: longterm.Pending, CreatedAt: s.clock()}, none)
	check(err)
}

func last[T any](_ T, err error) error { return err }

// seen counts what each read shows of the user.
func (s *stand) seen() map[string]int {
	s.t.Helper()
	ctx, page, got := s.t.Context(), conversation.Page{Limit: 50, Descending: true}, map[string]int{}
	some := func(name string, n int, err error) {
		s.t.Helper()
		if err != nil && !fault.Is(err, fault.NotFound) {
			s.t.Fatalf("%s: %v", name, err)
		}
		if n > 0 {
			got[name] = n
		}
	}
	messages, _, err := s.store.Timeline(ctx, ann, conversation.Range{}, page)
	some("timeline", len(messages), err)
	sessions, _, err := s.store.Sessions(ctx, ann, conversation.SessionFilter{}, page)
	some("sessions", len(sessions), err)
	recent, err := s.store.RecentSessions(ctx, ann, time.Time{}.AddDate(2000, 0, 0), 10)
	some("recent sessions", len(recent), err)
	for _, id := range []string{"old", "new"} {
		messages, _, err := s.store.Messages(ctx, ann, id, page)
		some("messages of "+id, len(messages), err)
	}
	prompts, _, err := s.store.KeptOf(ctx, ann, "", page)
	some("prompts", len(prompts), err)
	coaches, _, err := s.store.Coaches(ctx, ann, page)
	some("coaches", len(coaches), err)
	goals, _, err := s.store.Goals().List(ctx, ann, page)
	some("goals", len(goals), err)
	checkIns, _, err := s.store.CheckIns().List(ctx, ann, page)
	some("check-ins", len(checkIns), err)
	memories, _, err := s.store.Memories().List(ctx, ann, page)
	some("memories", len(memories), err)
	todos, _, err := s.store.Todos().List(ctx, ann, page)
	some("todos", len(todos), err)
	profile, err := s.store.Profiles().Get(ctx, ann)
	some("profile", len(profile.Name), err)
	snapshot, err := s.store.LongTerm(ctx, ann)
	some("snapshot", len(snapshot.Coaches)+len(snapshot.Goals)+len(snapshot.Memories)+len(snapshot.Todos), err)
	if snapshot.Profile != nil || snapshot.Seed != nil || snapshot.UserSummary != nil || snapshot.LatestCheckIn != nil {
		got["snapshot's single records"]++
	}
	access, err := s.store.Access(ctx, ann)
	some("preferences", len(access.Preferences.Timezone)-len("UTC"), err)
	return got
}

// TestNothingOfBeforeIsReadWhileErasing stops an erasure before it has deleted anything: no read shows what is left.
// What the user stores from then on is read, and stays.
func TestNothingOfBeforeIsReadWhileErasing(t *testing.T) {
	s := newStand(t)
	s.live("old")
	all := s.seen()
	if _, held, err := s.store.BeginErasure(t.Context(), ann, s.clock()); err != nil || !held {
		t.Fatalf("held %v, %v", held, err)
	}
	if diff := cmp.Diff(map[string]int{}, s.seen()); diff != "" {
		t.Errorf("seen of what is being erased (-want +got):\n%s", diff)
	}
	s.advance(time.Minute)
	s.live("new")
	want := maps.Clone(all)
	want["messages of new"] = want["messages of old"]
	delete(want, "messages of old")
	if diff := cmp.Diff(want, s.seen()); diff != "" {
		t.Errorf("seen of what is new (-want +got):\n%s", diff)
	}
	out, err := s.Erase(t.Context(), ann, s.clock().Add(time.Minute))
	if err != nil || !out.Done || out.Generation != 1 {
		t.Fatalf("erase to the end: %+v, %v", out, err)
	}
	if diff := cmp.Diff(want, s.seen()); diff != "" {
		t.Errorf("seen after the erasure (-want +got):\n%s", diff)
	}
	if keys := s.keys(ann); count(keys, "ltm#erasing") != 0 || count(keys, "msg#") != 2 {
		t.Errorf("left are %v", keys)
	}
}

// TestPagesOfTheTimelineWhileErasing reads in pages that begin among what is left behind.
func TestPagesOfTheTimelineWhileErasing(t *testing.T) {
	s := newStand(t)
	for i := range 20 {
		s.say(ann, "old", fmt.Sprint(i))
	}
	if _, _, err := s.store.BeginErasure(t.Context(), ann, s.clock()); err != nil {
		t.Fatal(err)
	}
	s.advance(time.Second)
	s.say(ann, "new", "a", "b", "c")
	for _, descending := range []bool{false, true} {
		var got []string
		page := conversation.Page{Limit: 2, Descending: descending}
		for {
			messages, next, err := s.store.Timeline(t.Context(), ann, conversation.Range{}, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range messages {
				got = append(got, m.SessionID)
			}
			if page.After = next; next == "" {
				break
			}
		}
		if diff := cmp.Diff([]string{"new", "new", "new"}, got); diff != "" {
			t.Errorf("descending %v (-want +got):\n%s", descending, diff)
		}
	}
}
