package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt"
)

// TestTheDesignerNeedsNoWorkouts has old and new workouts and chats. The designer's context reads chats alone, so its
// prompt has no summary of a workout, and its manifest says why. The coach's has both.
func TestTheDesignerNeedsNoWorkouts(t *testing.T) {
	t.Parallel()
	for context, want := range map[string]bool{"program_designer": false, "coach_conversation": true} {
		w := newFixture()
		p := w.user("u")
		for _, days := range []int{1, 3, 5} {
			at := now.AddDate(0, 0, -days)
			summarize(p.converse("log"+at.String(), "workout_log", "c", at.Add(time.Hour), says(0, "logged")), "A WORKOUT.")
			summarize(p.converse("chat"+at.String(), "coach_conversation", "c", at, says(0, "said")), "A CHAT.")
		}
		p.converse("here", context, "c", now.Add(-minute), says(0, "hello"), answers(time.Second, "hi"))
		r := request(prompt.Unified)
		r.Context = context
		got := build(t, w.service(now), "u", r)
		text := everything(got)
		if strings.Contains(text, "A WORKOUT") != want || !strings.Contains(text, "A CHAT") {
			t.Errorf("%s: workouts are in the prompt: %t\n%s", context, !want, text)
		}
		reasons := 0
		for _, name := range []string{"session_summary", "session_summaries"} {
			for _, item := range blockOf(t, got, name).Items {
				if item.Reason == "of a context that this one does not read" {
					reasons++
				}
			}
		}
		if (reasons > 0) == want {
			t.Errorf("%s: %d reasons", context, reasons)
		}
	}
}
