package chat_test

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestWhatOfAPromptIsReusable marks what the next turn's prompt begins with as well: not what changes each turn, which
// follows the session's messages, or in the system text where there are none.
func TestWhatOfAPromptIsReusable(t *testing.T) {
	t.Parallel()
	said := func(roles string) (all []prompt.Message) {
		for i, role := range strings.Fields(roles) {
			all = append(all, prompt.Message{Role: role, Content: string(rune('a' + i))})
		}
		return all
	}
	const now = " system"
	for name, tt := range map[string]struct {
		recipe  string
		history []prompt.Message
		want    string
	}{
		"the first turn":    {prompt.Unified, nil, ""},
		"only what changes": {prompt.Unified, said(now), ""},
		"the second turn":   {prompt.Unified, said("user assistant" + now), "be kind,a"},
		"a long session": {
			prompt.Unified, said("user assistant user assistant user assistant user assistant" + now), "be kind,c,e,g",
		},
		"another recipe": {prompt.BlockMap, said("user assistant"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.recipe, f.history = tt.recipe, tt.history
			run(t, t.Context(), f)
			var got []string
			for _, m := range f.asked[0].Messages {
				if m.Reusable {
					got = append(got, m.Content)
				}
			}
			check.Same(t, tt.want, strings.Join(got, ","), "reusable")
		})
	}
}

// TestEachSessionHasItsCacheKey asks for turns of different sessions and users.
func TestEachSessionHasItsCacheKey(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, session := range []string{"s", "s", "s2"} {
		f := newFake()
		f.turn.Session.ID = session
		run(t, t.Context(), f)
		key := f.asked[0].CacheKey
		if len(key) != 32 || strings.Contains(key, "ann") || key == f.asked[0].User {
			t.Errorf("key %q of session %s", key, session)
		}
		keys[key] = true
	}
	keys[llm.SessionKey("bob", "s")] = true
	keys[llm.SessionKey("anns", "")] = true
	if len(keys) != 4 {
		t.Errorf("%d keys of 2 sessions of one user and 2 of others", len(keys))
	}
}
