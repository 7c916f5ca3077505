package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
)

// pin gives a user a pinned memory of yesterday.
func pin(p *person, content string) {
	p.snapshot.Memories = append(p.snapshot.Memories, longterm.Memory{
		ID: "pinned", Type: longterm.ProfileMemory, Content: content, Pinned: true, Source: longterm.Extracted,
		CreatedAt: now.Add(-24 * time.Hour), Tokens: tokens.Count(content),
	})
}

// TestWhatSafetyHasIsNotRepeated has a user who says a fact, and nothing else, in this session, in another one of the
// thread, and in another context, whose summary has it as one of its sentences.
func TestWhatSafetyHasIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	pin(p, "The user is allergic to peanuts")
	allergy := func(at time.Duration) []line {
		return []line{says(at, "I'm allergic to peanuts."), answers(at+minute, "Noted.")}
	}
	p.converse("chat", "coach_conversation", "c", now.Add(-28*minute), allergy(0)...)
	p.converse("designer", "program_designer", "c", now.Add(-20*minute), allergy(0)...)
	summarize(p.converse("log", "workout_log", "c", now.Add(-10*minute), says(0, "x")),
		"The user is allergic to peanuts. They ran 10 km.")
	p.converse("s", "coach_conversation", "c", now.Add(-5*minute), says(0, "Hello there, coach"))
	r := prompt.Request{Context: "coach_conversation", SessionID: "s", CoachID: "c", Message: "Snacks?"}
	got := build(t, w.service(now), "u", r)
	text := everything(got)
	if n := strings.Count(text, "peanuts"); n != 1 || strings.Contains(text, "Noted") ||
		!strings.Contains(text, "They ran 10 km.") {
		t.Errorf("in the prompt %d times:\n%s", n, text)
	}
	if item := itemOf(t, got, "thread_history", "chat"); item.Reason != "repeats safety" {
		t.Errorf("the thread's line says %q", item.Reason)
	}
	if item := itemOf(t, got, "recent_activity", "log"); !strings.Contains(item.Reason, "without what safety has") {
		t.Errorf("the activity's line says %q", item.Reason)
	}
}
