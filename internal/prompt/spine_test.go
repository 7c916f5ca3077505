package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
)

// TestSpinesAndPreferences checks which spines and remarks are in the prompt, in every recipe. Those of other coaches
// add to the user summary, and what the app has stored is always in the prompt.
func TestSpinesAndPreferences(t *testing.T) {
	t.Parallel()
	const chat, designer = "coach_conversation", "program_designer"
	tests := map[string]struct {
		set    func(*longterm.Preferences)
		from   []string // the contexts of the spines
		hidden bool
	}{
		"all allowed":        {func(*longterm.Preferences) {}, []string{chat, designer}, false},
		"unknown contexts":   {func(*longterm.Preferences) {}, nil, false},
		"memory off":         {func(p *longterm.Preferences) { p.Memory = false }, []string{chat}, true},
		"crossContext off":   {func(p *longterm.Preferences) { p.CrossContext = false }, []string{chat}, true},
		"not shared":         {unshare(designer), []string{chat, designer}, true},
		"another not shared": {unshare("workout_log"), []string{chat, designer}, false},
		"shares nothing":     {unshare(chat), []string{chat, designer}, true},
		"its own only":       {unshare(chat), []string{chat}, false},
		"unknown, not all":   {unshare(designer), nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture()
			p := w.user("u")
			p.converse("here", chat, "c", now.Add(-2*minute), says(0, "own words"))
			test.set(&p.access.Preferences)
			at := now.Add(-time.Hour)
			p.snapshot.UserSummary = &longterm.UserSummary{Wins: []string{"stored by the app"}, StoredAt: at.Add(-time.Hour)}
			p.snapshot.Spines = map[string]longterm.Spine{
				"c":   {Text: "secret-spine", Wins: []string{"secret-win"}, Contexts: test.from, UpdatedAt: at},
				"tom": {Text: "never-told", Struggles: []string{"secret-too"}, Contexts: test.from, UpdatedAt: at},
				"old": {Wins: []string{"never-replaced"}, Contexts: test.from, UpdatedAt: at.Add(-2 * time.Hour)},
			}
			for _, recipe := range []string{"unified", "working-context", "block-map"} {
				text := everything(build(t, w.service(now), "u", prompt.Request{
					Recipe: recipe, Context: chat, SessionID: "here", CoachID: "c", Message: "next",
				}))
				if strings.Contains(text, "never-") || test.hidden && strings.Contains(text, "secret-") {
					t.Errorf("%s has too much:\n%s", recipe, text)
				}
				shown := map[string][]string{
					"unified":         {"secret-spine", "secret-win", "secret-too"},
					"working-context": {"secret-win", "secret-too"}, "block-map": {"secret-spine"},
				}[recipe]
				if recipe != "block-map" && !strings.Contains(text, "stored by the app") {
					t.Errorf("%s does not tell what the app has stored:\n%s", recipe, text)
				}
				for _, want := range shown {
					if !test.hidden && !strings.Contains(text, want) {
						t.Errorf("%s does not tell %s:\n%s", recipe, want, text)
					}
				}
			}
		})
	}
}

// TestSpinesAreCorrected marks the sentence of a spine that says what has ended since the spine was written, and none
// that was known to have ended by then, or is said since.
func TestSpinesAreCorrected(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("here", "coach_conversation", "c", now.Add(-2*minute), says(0, "own words"))
	written := now.Add(-20 * time.Hour)
	p.snapshot.Spines = map[string]longterm.Spine{"c": {
		Text:      "The user is Ann. Lea is allergic to eggs. The user said known. The user said new.",
		CoveredTo: written, UpdatedAt: written,
	}}
	eggs := ended("eggs", "nuts", longterm.EndedReplaced, now.Add(-time.Hour), "msg_other")
	eggs.Content, eggs.SaidAt = "Lea is allergic to eggs.", written.Add(-time.Hour)
	known := ended("known", "", longterm.EndedOver, written.Add(-time.Hour), "msg_other")
	since := ended("new", "", longterm.EndedOver, now.Add(-time.Hour), "msg_other")
	since.SaidAt = now.Add(-2 * time.Hour)
	p.snapshot.Memories = []longterm.Memory{
		eggs, known, since, {ID: "nuts", Type: longterm.ProfileMemory, Content: "Lea is allergic to nuts."},
	}
	for _, recipe := range []string{"unified", "block-map"} {
		text := everything(build(t, w.service(now), "u", prompt.Request{
			Recipe: recipe, Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next",
		}))
		want := "Ann. Lea is allergic to eggs. (since replaced on 5 February 2026: Lea is allergic to nuts.) " +
			"The user said known. The user said new."
		if !strings.Contains(text, want) {
			t.Errorf("%s has no %q:\n%s", recipe, want, text)
		}
	}
}
