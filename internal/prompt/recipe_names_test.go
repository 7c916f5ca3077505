package prompt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/registry"
)

// TestContextsNameRecipes compares the recipes with those that a context of the registry may name.
func TestContextsNameRecipes(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range prompt.Recipes {
		names = append(names, r.Name)
	}
	if diff := cmp.Diff(registry.RecipeNames, names); diff != "" {
		t.Errorf("the registry's (-) and the recipes (+)\n%s", diff)
	}
}
