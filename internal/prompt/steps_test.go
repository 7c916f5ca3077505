package prompt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// No step changes what another one has handed on, in any recipe.
func TestStepsChangeNothingThatWasHandedOn(t *testing.T) {
	t.Parallel()
	for _, recipe := range prompt.Recipes {
		for _, budget := range []int{0, 500, 1500} { // small ones cut and drop
			w := newFixture()
			r := ann(t, w)
			if r.Recipe = recipe.Name; budget > 0 {
				r.Budget = &prompt.Budget{Tokens: budget}
			}
			first, last, err := w.service(now).Handed(t.Context(), "ann", r)
			check.OK(t, err)
			if diff := cmp.Diff(first, last); diff != "" {
				t.Errorf("%s, %d tokens (-handed on +used):\n%s", recipe.Name, budget, diff)
			}
		}
	}
}
