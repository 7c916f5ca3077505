package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestTheNewestOfEachSubject has two summaries of one program, of sessions within and beyond the window of recent
// activity. Every recipe leaves out the old one, found by the search or listed, and only for the new one.
func TestTheNewestOfEachSubject(t *testing.T) {
	t.Parallel()
	for name, ago := range map[string]time.Duration{"within two days": 5 * time.Hour, "of this week": 4 * 24 * time.Hour} {
		w := newFixture()
		p := w.user("u")
		program := func(id, text string, at time.Time) *conversation.Session {
			s := p.converse(id, "training_program", "c", at, says(0, "my program"), answers(minute, "noted"))
			s.Attributes = map[string]any{"programId": "p"}
			return summarize(s, text)
		}
		p.hits = append(p.hits, summaryHit(program("old", "Adherence to the program was eighty.", now.Add(-ago)), 0.9))
		p.hits[0].Summary.Fields = map[string]any{"programId": "p"}
		program("new", "Adherence to the program was ninety.", now.Add(-ago+3*time.Hour))
		p.converse("here", "coach_conversation", "c", now.Add(-2*minute), says(0, "hello"), answers(minute, "hi"))
		found := 0
		for _, recipe := range recipeNames() {
			text := everything(build(t, w.service(now), "u", prompt.Request{
				Recipe: recipe, Context: "coach_conversation", SessionID: "here", Message: "what is my adherence to the program?",
			}))
			check.Lacks(t, text, "eighty", "%s, %s: has the old summary", name, recipe)
			found += strings.Count(text, "ninety")
		}
		if found < 2 {
			t.Errorf("%s: the new summary is in %d prompts", name, found)
		}
	}
}

// TestTimesOfTheSession writes a time among the session's attributes in the user's zone, to the minute.
func TestTimesOfTheSession(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.access.Preferences.Timezone = "Asia/Tokyo"
	s := p.converse("here", "coach_conversation", "c", now.Add(-2*minute), says(0, "hello"), answers(minute, "hi"))
	s.Attributes = map[string]any{"due": "2026-11-20T22:00:30.500Z", "days": []any{"2026-11-21T22:00:00Z"}}
	text := everything(build(t, w.service(now), "u", prompt.Request{
		Recipe: "block-map", Context: "coach_conversation", SessionID: "here", Message: "next",
	}))
	if !strings.Contains(text, "21 November 2026, 07:00") || !strings.Contains(text, "22 November 2026, 07:00") {
		t.Errorf("the prompt has other times:\n%s", text)
	}
}

func recipeNames() []string {
	names := make([]string, len(prompt.Recipes))
	for i, r := range prompt.Recipes {
		names[i] = r.Name
	}
	return names
}
