package erasure_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestANewSessionOfTheSameID deletes a session, which breaks off half-way, and creates another one with its id. The
// sweeps then end the first deletion and leave everything of the new session as it is.
func TestANewSessionOfTheSameID(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	old := s.addMessages(ann, "a", "old 1", "old 2")
	s.summarize(ann, "a")
	s.remember(longterm.Extracted, old[0])
	s.savePrompt("a")
	s.records.fail = errTable
	if err := s.DeleteSession(t.Context(), ann, "a"); err == nil {
		t.Fatal("the deletion did not break off")
	}
	s.records.fail = nil

	s.Advance(time.Second)
	kept := s.addMessages(ann, "a", "new 1", "new 2")
	sum := s.summarize(ann, "a")
	fact := s.remember(longterm.Extracted, kept[0])
	s.savePrompt("a")
	s.rename(ann, "a")
	want := map[string]bool{kept[0].ID: true, kept[1].ID: true, sum.ID(): true, fact.ID: true}
	for _, wait := range []time.Duration{time.Minute, 15 * time.Minute, 25 * time.Hour} {
		s.indexed(ann, 0, old[0].ID, old[1].ID)
		s.Advance(wait)
		check.Got(s.sweep())(t)
	}
	check.Same(t, want, s.vectors(ann, 0), "vectors")
	session, err := s.store.Sessions.Session(t.Context(), ann, "a")
	if err != nil || session.MessageCount != 2 || session.Summary == nil || session.Title != "another" {
		t.Errorf("the new session is %+v, %v", session, err)
	}
	line, _, err := s.store.Messages.Timeline(t.Context(), ann, conversation.Range{}, conversation.Page{Limit: 50})
	if err != nil || len(line) != 2 || line[0].ID != kept[0].ID {
		t.Errorf("timeline %v, %v", line, err)
	}
	if _, err := s.store.Memories.Get(t.Context(), ann, fact.ID); err != nil {
		t.Errorf("the fact drawn from the new session: %v", err)
	}
	keys := s.keys(ann)
	for prefix, n := range map[string]int{
		"summary#": 1, "prompt#": 1, "conversation#": 1, "ltm#memory#": 1, "control#tombstone#": 0,
	} {
		if count(keys, prefix) != n {
			t.Errorf("%d records %s are left, want %d: %v", count(keys, prefix), prefix, n, keys)
		}
	}
}

// TestTheSummaryAfterADeletedMessage deletes a message, with which the summary goes. The vector of the next summary has
// the same id. The sweeps of the message leave it.
func TestTheSummaryAfterADeletedMessage(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	m := s.addMessages(ann, "a", "1", "2")
	s.summarize(ann, "a")
	check.OK(t, s.DeleteMessage(t.Context(), ann, "a", m[0].ID))
	s.Advance(time.Minute)
	sum := s.summarize(ann, "a")
	for _, wait := range []time.Duration{0, 15 * time.Minute, 25 * time.Hour} {
		s.Advance(wait)
		if n, err := s.sweep(); err != nil || n != 1 {
			t.Errorf("swept %d, %v", n, err)
		}
		if !s.vectors(ann, 0)[sum.ID()] {
			t.Fatalf("after %v the vector of the summary is gone", wait)
		}
	}
}
