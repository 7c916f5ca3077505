package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// spineTexts returns what a prompt has of the coach's spine and the user summary, and the user's own view of the
// latter.
func spineTexts(t *testing.T, api *client.Client) string {
	t.Helper()
	var about struct{ Patterns, Wins, Struggles []string }
	_ = api.Do(t.Context(), http.MethodGet, "/v1/user-summary", nil, &about) // not found while nothing is observed
	text := "user summary: " + strings.Join(about.Wins, " ")
	p := buildPrompt(t, api, "now", "Hello.")
	for _, b := range p.Manifest.Blocks {
		for _, item := range b.Items {
			if b.Name == "spine" || b.Name == "user_summary" {
				text += "\n" + b.Name + " " + item.Decision
			}
		}
	}
	if _, story, ok := strings.Cut(p.System, "# YOUR STORY WITH THE USER SO FAR"); ok {
		story, _, _ = strings.Cut(story, "\n# ")
		text += "\nstory: " + strings.Join(strings.Fields(story), " ")
	}
	return text
}

// hasAll reports whether a text has all of some words.
func hasAll(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// TestSpine completes two sessions in two contexts. The coach's spine and the user summary come to tell of both, and
// after the deletion of one of the other alone.
func TestSpine(t *testing.T) {
	t.Parallel()
	stack := startStack(t, "TRIGGERS=messages=20,idle=1s,sweep=1s")
	api := check.Got(client.New(stack.Base).As(t.Context(), "ann"))(t)
	for _, s := range []struct{ id, appContext, said string }{
		{"marzipan", "coach_conversation", "I finished the marzipan race in Lisbon."},
		{"pomelo", "program_designer", "I benched 90 kg with the pomelo grip."},
	} {
		id := s.id
		open(t, api, s.appContext, id)
		say(t, api, id, s.said)
		do(t, api, http.MethodPatch, "/v1/sessions/"+id, object{"status": "completed"}, nil)
	}
	open(t, api, "coach_conversation", "now")
	both := []string{"spine included", "user_summary included", "Coach: ", "Program Designer: "}
	text := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(text)
		}
	})
	eventually(t, 30*time.Second, "spine of both sessions", func() bool {
		text = spineTexts(t, api)
		return hasAll(text, both...) && strings.Count(text, "marzipan") == 2 && strings.Count(text, "pomelo") == 2
	})
	do(t, api, http.MethodDelete, "/v1/sessions/pomelo", nil, nil)
	check.Lacks(t, spineTexts(t, api), "pomelo", "at once after the deletion")
	eventually(t, 30*time.Second, "spine of what is left", func() bool {
		text = spineTexts(t, api)
		return hasAll(text, "spine included", "user_summary included") && strings.Count(text, "marzipan") == 2
	})
	check.Lacks(t, text, "pomelo", "written anew")
	do(t, api, http.MethodPut, "/v1/preferences", object{"memory": false}, nil)
	if off := spineTexts(t, api); strings.Contains(off, "included") || strings.Contains(off, "story") {
		t.Errorf("with memory off:\n%s", off)
	}
	do(t, api, http.MethodPut, "/v1/preferences", object{"memory": true}, nil)
	if on := spineTexts(t, api); on != text {
		t.Errorf("with memory on again:\n%s\nbefore:\n%s", on, text)
	}
}
