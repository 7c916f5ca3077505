package prompt_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// Equal data at an equal time make equal prompts, to the byte, however the sources order equals.
func TestDeterminism(t *testing.T) {
	for _, recipe := range prompt.Recipes {
		t.Run(recipe.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				defer scope(drawStrategy(t))()
				w := newFixture()
				p := w.user("u")
				r := drawUser(t, p)
				r.Recipe, r.Budget = recipe.Name, &prompt.Budget{Tokens: rapid.IntRange(1000, 4000).Draw(t, "budget")}
				tie(t, p)
				first := buildJSON(t, w, r)
				shuffle(t, p)
				if second := buildJSON(t, w, r); first != second {
					t.Fatalf("-first +second:\n%s", cmp.Diff(first, second))
				}
			})
		})
	}
}

// tie makes records equal in what they could be ordered by.
func tie(t *rapid.T, p *person) {
	s := &p.snapshot
	if rapid.Bool().Draw(t, "equal scores") {
		for i := range p.hits {
			p.hits[i].Score = 0.5
		}
	}
	if !rapid.Bool().Draw(t, "equal times") {
		return
	}
	for i := range s.Memories {
		s.Memories[i].CreatedAt = now
	}
	for i := range s.Goals {
		s.Goals[i].CreatedAt = now
	}
	for i := range s.Todos {
		s.Todos[i].CreatedAt, s.Todos[i].CompletedAt = now, now
	}
	for i := range p.sessions {
		p.sessions[i].LastMessageAt = now
		if p.sessions[i].Summary != nil {
			p.sessions[i].Summary.UpdatedAt = now
		}
	}
}

// shuffle orders anew what a source may bring in any order.
func shuffle(t *rapid.T, p *person) {
	s := &p.snapshot
	p.sessions = rapid.Permutation(p.sessions).Draw(t, "sessions")
	p.hits = rapid.Permutation(p.hits).Draw(t, "hits")
	s.Memories = rapid.Permutation(s.Memories).Draw(t, "memories")
	s.Goals = rapid.Permutation(s.Goals).Draw(t, "goals")
	s.Todos = rapid.Permutation(s.Todos).Draw(t, "todos")
}

func buildJSON(t *rapid.T, w *fixture, r prompt.Request) string {
	got := check.Got(w.service(now).Build(t.Context(), "u", r))(t)
	clear(got.Manifest.Timings)
	text := check.Got(json.MarshalIndent(got, "", " "))(t)
	return string(text)
}
