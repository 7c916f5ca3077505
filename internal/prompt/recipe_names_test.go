package prompt_test

import (
	"testing"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestContextsNameRecipes compares the recipes with those that a context of the registry may name.
func TestContextsNameRecipes(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range prompt.Recipes {
		names = append(names, r.Name)
	}
	check.Same(t, registry.RecipeNames, names, "the registry's (-) and the recipes (+)")
}
