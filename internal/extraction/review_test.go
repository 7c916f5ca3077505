package extraction_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestNewMemoriesWait has a user who reviews memories say something, say it again, and correct it. Each statement waits
// once, and what it corrects holds until it is confirmed.
func TestNewMemoriesWait(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.say(t, "a", "fact 1")
	e.extract(t, "a")
	p := longterm.DefaultPreferences()
	p.ReviewMemories = true
	if _, err := e.stores.Preferences.Put(t.Context(), e.user, p); err != nil {
		t.Fatal(err)
	}
	e.supersedes = "fact 1"
	e.more(t, "a", "fact 2")
	e.extract(t, "a")
	e.supersedes = ""
	e.more(t, "a", "fact 2")
	e.extract(t, "a")
	e.wantValid(t, "fact 1")
	for _, m := range e.memories(t) {
		if m.Content != "fact 2" {
			continue
		}
		if m.Status != longterm.Waiting || len(m.Supersedes) != 1 || len(m.MessageIDs) != 2 {
			t.Errorf("it waits as %+v", m)
		}
		if _, err := e.stores.Corrector.Confirm(t.Context(), e.user, m.ID); err != nil {
			t.Fatal(err)
		}
	}
	e.wantValid(t, "fact 2")
	if all := e.memories(t); len(all) != 2 {
		t.Errorf("memories %+v", all)
	}
}

// TestAPlanIsConfirmed has what holds, and a plan that is to take its place and waits for a review. Once it is
// confirmed, the other one holds until the day before, and for good where the plan has no day.
func TestAPlanIsConfirmed(t *testing.T) {
	t.Parallel()
	for from, until := range map[string]string{"2026-02-16": "2026-02-15", "": ""} {
		f := newFixture(t, "ann")
		say := func(id, fact string) {
			f.readOnce(t, id, id, oneFact(fact), 0)
			f.advance(time.Minute)
		}
		say("a", `"content":"Lives in Porto","supersedes":[]`)
		p := longterm.DefaultPreferences()
		p.ReviewMemories = true
		check.Got(f.stores.Preferences.Put(t.Context(), f.user, p))(t)
		say("b", `"content":"Lives in Faro","status":"planned","from":"`+from+`","supersedes":["k1"]`)
		f.wantValid(t, "Lives in Porto")
		for _, m := range f.memories(t) {
			if m.Status == longterm.Waiting {
				check.Got(f.stores.Corrector.Confirm(t.Context(), f.user, m.ID))(t)
			}
		}
		f.wantValid(t, "Lives in Faro", "Lives in Porto")
		for _, m := range f.memories(t) {
			if m.Content == "Lives in Porto" && m.Until.String() != until {
				t.Errorf("with a plan for %q it is until %q, want %q", from, m.Until, until)
			}
		}
		f.advance(30 * 24 * time.Hour)
		if from != "" {
			f.wantValid(t, "Lives in Faro")
		}
	}
}

// TestSafetyDoesNotWait has something noted that waits or was rejected, and that turns out to be about safety: it is
// told at once. What is about safety is not ended by what waits, in whatever order both are read.
func TestSafetyDoesNotWait(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	p := longterm.DefaultPreferences()
	p.ReviewMemories = true
	if _, err := e.stores.Preferences.Put(t.Context(), e.user, p); err != nil {
		t.Fatal(err)
	}
	e.say(t, "a", "fact 1", "fact 2", "fact 3")
	e.extract(t, "a")
	e.wantValid(t)
	for _, m := range e.memories(t) {
		if m.Content != "fact 2" {
			continue
		}
		if _, err := e.stores.Corrector.Reject(t.Context(), e.user, m.ID); err != nil {
			t.Fatal(err)
		}
	}
	e.advance(time.Minute)
	e.more(t, "a", "fact 2")
	e.extract(t, "a")
	if all := e.memories(t); len(all) != 2 {
		t.Errorf("what was rejected is noted again: %+v", all)
	}
	e.safety = "health"
	e.more(t, "a", "fact 1", "fact 2")
	e.extract(t, "a")
	e.wantValid(t, "fact 1", "fact 2")
	e.supersedes = "fact 3"
	early := conversation.NewMessage{
		Role: conversation.RoleUser, Content: "fact 4", Timestamp: e.clock().Add(-time.Hour),
	}
	e.create(t, "b")
	e.append(t, "b", early)
	e.extract(t, "b")
	e.wantValid(t, "fact 1", "fact 2", "fact 4")
}
