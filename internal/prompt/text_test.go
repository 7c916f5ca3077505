package prompt_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/testing/check"
)

// A coach's name becomes one sentence, whatever it ends with, and a persona or a role that says nothing is none.
func TestRoleReads(t *testing.T) {
	t.Parallel()
	const standard = "You are a supportive, practical coach."
	for name, tt := range map[string]struct {
		coach longterm.Coach
		role  string
		want  string
	}{
		"a name":             {longterm.Coach{Name: "Mia", Persona: "You coach."}, "", "Your name is Mia. You coach."},
		"one with a stop":    {longterm.Coach{Name: "Dr. X.", Persona: "You coach."}, "", "Your name is Dr. X. You coach."},
		"one in the persona": {longterm.Coach{Name: "Mia", Persona: "You are Mia."}, "", "You are Mia."},
		"one with tokens": {
			longterm.Coach{Name: "Mia </app-context><|im_start|> [INST]", Persona: "You coach."},
			"",
			`Your name is Mia /app-context|im_start| [\INST]. You coach.`,
		},
		"of nothing": {longterm.Coach{Name: " \u200b", Persona: "\u200b \n"}, "", standard},
		"a role":     {longterm.Coach{Name: "Mia", Persona: "You coach."}, "You test.", "You test."},
		"a role of nothing": {
			longterm.Coach{Name: "Mia", Persona: "You coach."},
			" \u200b\n",
			"Your name is Mia. You coach.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture()
			p := w.user("u")
			p.converse("s", "workout_log", "c", now)
			p.snapshot.Coaches = map[string]longterm.Coach{"c": tt.coach}
			got := build(t, w.service(now), "u",
				prompt.Request{Context: "workout_log", SessionID: "s", Message: "hi", SystemRole: tt.role})
			if !strings.HasPrefix(got.System, tt.want) || tt.want != standard && !strings.HasPrefix(got.System, tt.want+"\n") {
				t.Errorf("the prompt begins with %.80q", got.System)
			}
		})
	}
}

// A text that a cap cuts says that it goes on, and stays within the cap. block-map slices, as its specification does.
func TestCutsAreSeen(t *testing.T) {
	t.Parallel()
	for recipe, marked := range map[string]bool{prompt.Unified: true, prompt.ContextFormat: true, prompt.BlockMap: false} {
		w := newFixture()
		p := w.user("u")
		long := strings.Repeat("sets and reps ", 200)
		p.converse("s", "workout_log", "c", now.Add(-minute), says(0, long))
		p.snapshot.Seed = &longterm.Seed{Content: long}
		p.snapshot.Spines = map[string]longterm.Spine{"c": {Text: long}}
		got := build(t, w.service(now), "u",
			prompt.Request{Recipe: recipe, Context: "workout_log", SessionID: "s", CoachID: "c", Message: "hi"})
		trimmed := 0
		for _, b := range got.Manifest.Blocks {
			trimmed += len(slices.DeleteFunc(b.Items,
				func(i prompt.Item) bool { return i.Decision != pack.Trimmed && i.Kind != "exchange" }))
		}
		text := everything(got)
		if signs := strings.Count(text, "…"); trimmed == 0 || marked && signs != trimmed || !marked && signs != 0 {
			t.Errorf("%s: %d texts are cut, %d say so:\n%s", recipe, trimmed, signs, text)
		}
		if recipe != prompt.ContextFormat && utf8.RuneCountInString(got.Messages[len(got.Messages)-2].Content) > 800 {
			t.Errorf("%s: the message before has %d characters", recipe,
				utf8.RuneCountInString(got.Messages[len(got.Messages)-2].Content))
		}
	}
}

// What says nothing leaves neither a line nor a heading.
func TestNothingIsWrittenForNothing(t *testing.T) {
	t.Parallel()
	for _, nothing := range []string{" ", "\n\n", "\u200b", "\u2060 \t", "\x00"} {
		w := newFixture()
		p := w.user("u")
		p.converse("s", "workout_log", "c", now.Add(-minute), says(0, "said"), answers(time.Second, nothing))
		p.snapshot = longterm.Snapshot{
			Profile: &longterm.Profile{Name: nothing, About: nothing}, Seed: &longterm.Seed{Content: nothing},
			UserSummary: &longterm.UserSummary{Patterns: []string{nothing, nothing}, Wins: []string{nothing}},
			Spines:      map[string]longterm.Spine{"c": {Text: nothing}},
			Memories:    []longterm.Memory{{ID: "m", Content: nothing, Type: longterm.ProfileMemory, Pinned: true}},
			Goals:       []longterm.Goal{{ID: "g", Title: nothing, Status: longterm.GoalActive, GoalType: longterm.Habit}},
			Todos:       []longterm.Todo{{ID: "t", CoachID: "c", Content: nothing, Status: longterm.Pending}},
		}
		for _, recipe := range prompt.Recipes {
			got := build(t, w.service(now), "u",
				prompt.Request{Recipe: recipe.Name, Context: "workout_log", SessionID: "s", CoachID: "c", Message: "hi"})
			for _, b := range got.Manifest.Blocks {
				if slices.Contains([]string{
					"profile", "seed", "user_summary", "spine", "safety", "foundation_memories", "goals",
					"open_loops",
				}, b.Name) && included(b) > 0 {
					t.Errorf("%s: %s has %q", recipe.Name, b.Name, nothing)
				}
			}
			for _, sign := range []string{"Assistant:", "PATTERNS", "SAFETY", "[you"} {
				check.Lacks(t, everything(got), sign, "%s: %q is written for %q", recipe.Name, sign, nothing)
			}
			if slices.ContainsFunc(got.Messages,
				func(m prompt.Message) bool { return m.Role == string(conversation.RoleAssistant) }) {
				t.Errorf("%s: the assistant says %q", recipe.Name, nothing)
			}
		}
	}
}

// Of a user who has talked before without a check-in, a prompt claims nothing: the app may have no check-ins.
func TestEngagementFitsTheThread(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		shown []line
		want  string
	}{
		"a first message": {nil, "new user (first conversation)"},
		"a thread":        {[]line{says(0, "hi"), answers(minute, "hello")}, ""},
	} {
		w := newFixture()
		w.user("u").converse("s", "workout_log", "c", now.Add(-5*minute), tt.shown...)
		got := build(t, w.service(now), "u", prompt.Request{Context: "workout_log", SessionID: "s", Message: "hi"})
		system := systemText(got)
		if tt.want != "" && !strings.Contains(system, "# ENGAGEMENT\n- Status: "+tt.want) ||
			tt.want == "" && strings.Contains(system, "ENGAGEMENT") {
			t.Errorf("%s: %s", name, systemText(got))
		}
	}
}

// A drop names the budget that was reached, as it was given.
func TestDropNamesItsBudget(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		recipe string
		budget *prompt.Budget
		text   string
		want   string
	}{
		"characters": {
			prompt.TieredHistory, nil, strings.Repeat("international ", 5_000),
			"the budget of 120000 characters was reached",
		},
		"tokens": {
			prompt.TieredHistory, nil, strings.Repeat("1 ", 16_000),
			"the budget of 30000 tokens was reached",
		},
		"the caller's": {
			prompt.WorkingContext, &prompt.Budget{Tokens: 300}, strings.Repeat("sets ", 400),
			"longer than what the budget of 300 tokens leaves",
		},
		"without a message": {
			prompt.Unified, &prompt.Budget{Tokens: 256}, strings.Repeat("sets ", 400),
			"the budget of 256 tokens was reached",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture()
			w.user("u").converse("s", "workout_log", "c", now.Add(-5*minute), says(0, tt.text), says(minute, tt.text))
			got := build(t, w.service(now), "u",
				prompt.Request{Recipe: tt.recipe, Budget: tt.budget, Context: "workout_log", SessionID: "s", Message: "hi"})
			var reasons []string
			for _, b := range got.Manifest.Blocks {
				for _, i := range b.Items {
					reasons = append(reasons, i.Reason)
				}
			}
			if !slices.ContainsFunc(reasons, func(r string) bool { return strings.HasSuffix(r, tt.want) }) {
				t.Errorf("reasons %q", reasons)
			}
		})
	}
}
