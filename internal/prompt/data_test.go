package prompt_test

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/prompt"
)

// TestDataIsNamed has 100 KB of base64 in a message of the session and in one of another: prompts tell the words beside
// it and its size, in every recipe, and have none of it.
func TestDataIsNamed(t *testing.T) {
	t.Parallel()
	for _, recipe := range prompt.Recipes {
		w := newFixture()
		p := w.user("u")
		data := strings.Repeat("aGVsbG8gd29y/+", 100<<10/14)
		const in = "coach_conversation"
		p.converse("other", in, "c", now.Add(-50*minute), says(0, "the scan is "+data), answers(minute, "ok"))
		p.converse("here", in, "c", now.Add(-5*minute), says(0, "my photo is "+data), answers(minute, "fine"))
		r := prompt.Request{
			Context: in, SessionID: "here", CoachID: "c", Message: "next", SkipSave: true,
			Recipe: recipe.Name,
		}
		text := everything(build(t, w.service(now), "u", r))
		if strings.Contains(text, data[:100]) {
			t.Errorf("%s has the data", recipe.Name)
		}
		if strings.Contains(text, "my photo is") && !strings.Contains(text, "my photo is [… 100 KB of data]") {
			t.Errorf("%s does not tell its size:\n%s", recipe.Name, text)
		}
		if recipe.Name == prompt.Unified && !strings.Contains(text, "my photo is") {
			t.Errorf("%s has no message", recipe.Name)
		}
	}
}
