package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// TestForgottenMessages has messages that the user asked to forget, that the app keeps out of the index, or that have a
// password: in an older conversation, in another one of today, among the hits, and in the session itself. No recipe has
// them, but those of the session itself. What was forgotten is in the prompt only as the last messages of their own
// conversation.
func TestForgottenMessages(t *testing.T) {
	t.Parallel()
	for _, recipe := range prompt.Recipes {
		t.Run(recipe.Name, func(t *testing.T) {
			t.Parallel()
			checkHidden(t, recipe.Name, func(m *conversation.Message) { m.Forgotten = true }, false)
			checkHidden(t, recipe.Name, func(m *conversation.Message) { m.NoIndex = true }, true)
			checkHidden(t, recipe.Name, func(m *conversation.Message) { m.Content += ": my password is swordfish99" }, true)
		})
	}
}

// checkHidden builds a prompt with messages that are hidden, and checks that it has none of other sessions.
func checkHidden(t *testing.T, recipe string, hide func(*conversation.Message), ownIsShown bool) {
	t.Helper()
	w := newFixture()
	p := w.user("u")
	p.converse("far", "coach_conversation", "c", now.Add(-90*time.Hour), says(0, "secret-far"), says(minute, "kept-far"))
	p.converse("today", "coach_conversation", "c", now.Add(-3*time.Hour),
		says(0, "secret-today"), says(minute, "kept-today"))
	p.converse("design", "program_designer", "c", now.Add(-2*time.Hour),
		says(0, "secret-design"), says(minute, "kept-design"))
	var lines []line
	for range 8 {
		lines = append(lines, says(minute, "secret-own"), answers(minute, "well"))
	}
	p.converse("here", "coach_conversation", "c", now.Add(-20*minute), lines...)
	for i := range p.messages {
		m := &p.messages[i]
		if strings.HasPrefix(m.Content, "secret-") {
			hide(m)
		}
		p.hits = append(p.hits, recall.Hit{ID: m.ID, Score: 0.9, Message: m})
	}
	built := build(t, w.service(now), "u", prompt.Request{
		Recipe: recipe, Context: "coach_conversation", SessionID: "here", CoachID: "c",
		Message: "As we said, what next?", SkipSave: true,
	})
	all := built.System + built.Text
	for _, m := range built.Messages {
		if m.Role == "system" {
			all += m.Content
		}
	}
	for _, secret := range []string{"secret-far", "secret-today", "secret-design"} {
		if strings.Contains(all, secret) {
			t.Errorf("%s is in the prompt:\n%s", secret, all)
		}
	}
	isNearShown := strings.Contains(all, "kept-far") && strings.Contains(all, "kept-today")
	if recipe == prompt.Unified && (strings.Contains(all, "secret-own") && !ownIsShown || !isNearShown) {
		t.Errorf("what is near is left out, or the thread has what was forgotten:\n%s", all)
	}
}
