package prompt_test

import (
	"testing"

	"github.com/throughline/throughline/internal/prompt"
)

// TestLeastBudget holds that the least budget there is carries a short question to every recipe, and that the budget's
// last tokens go to a part of what no longer fits whole.
func TestLeastBudget(t *testing.T) {
	w := newWorld()
	r := longHistory(w)
	r.Message = "Should I train tomorrow, or rest my back for another day?"
	for _, recipe := range prompt.Recipes {
		r.Recipe, r.Budget = recipe.Name, &prompt.Budget{Tokens: prompt.MinBudget}
		if p := build(t, w.service(now), "u", r); p.Tokens.Total > prompt.MinBudget {
			t.Errorf("%s: %d tokens", recipe.Name, p.Tokens.Total)
		}
	}
	r.Recipe = prompt.Unified
	for budget := prompt.MinBudget; budget < 1000; budget += 50 {
		r.Budget.Tokens = budget
		p := build(t, w.service(now), "u", r)
		if left := budget - p.Tokens.Total; left > 60 { // as much as a heading and the least part of an entry, or the time, may need
			t.Errorf("of %d tokens %d are not used", budget, left)
		}
	}
}
