package extraction_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
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
