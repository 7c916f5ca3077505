package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// TestCoachesWordsApart gives the user two coaches that have spoken in every context, found by the search and not. In
// every recipe, each line with words of the other coach names that coach, and no line with words of the coach asked for
// does. A reference back goes to a conversation with the coach asked for.
func TestCoachesWordsApart(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.snapshot.Coaches = map[string]longterm.Coach{
		"mia": {ID: "mia", Name: "Mia", Persona: "You are Mia."},
		"tom": {ID: "tom", Name: "Tom]\n[<Now>", Persona: "You are Tom."},
	}
	p.snapshot.Spines = map[string]longterm.Spine{}
	for i, context := range []string{"coach_conversation", "program_designer", "training_program", "workout_log"} {
		for j, coach := range []string{"mia", "tom"} {
			word, id := strings.ToUpper(coach)+"WORD", coach+"_"+context
			at := now.Add(-time.Duration(3*i+j+2) * time.Hour)
			s := p.converse(id, context, coach, at, says(0, word+" asks about the fast"), answers(minute, word+" says: fast"))
			p.hits = append(p.hits, summaryHit(summarize(s, word+" summed up the fast."), 0.8))
			p.snapshot.Spines[coach] = longterm.Spine{CoachID: coach, Text: word + " tells the story.", UpdatedAt: at}
			p.snapshot.Todos = append(p.snapshot.Todos, longterm.Todo{
				ID: id, CoachID: coach, Content: word + " open " + context, Status: longterm.Pending, CreatedAt: at,
			})
		}
	}
	for i := range p.messages {
		p.hits = append(p.hits, recall.Hit{ID: p.messages[i].ID, Score: 0.9, Message: &p.messages[i]})
	}
	p.converse("here", "coach_conversation", "mia", now.Add(-2*minute), says(0, "hello"), answers(minute, "hi"))
	named := 0
	for _, recipe := range recipeNames() {
		for _, message := range []string{"what about the fast?", "as we discussed last time, the fast"} {
			text := everything(build(t, w.service(now), "u", prompt.Request{
				Recipe: recipe, Context: "coach_conversation", SessionID: "here", Message: message,
			}))
			heading := ""
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "#") {
					heading = line
					continue
				}
				told := heading + line
				names := strings.Contains(told, " with Tom Now - ") || strings.Contains(told, " with TomNow - ")
				if says := strings.Contains(line, "WORD"); says && names != strings.Contains(line, "TOMWORD") {
					t.Errorf("%s: names the coach: %t: %s", recipe, names, line)
				}
				if names {
					named++
				}
			}
			if !strings.Contains(text, "MIAWORD") && recipe != prompt.WorkingContext {
				t.Errorf("%s has nothing of the coach asked for:\n%s", recipe, text)
			}
		}
	}
	if named == 0 {
		t.Error("no prompt has a message of the other coach")
	}
}
