package bm25_test

import (
	"testing"

	"github.com/throughline/throughline/infra/bench/recall/bm25"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestSearch ranks by rare words, by short texts, and equal ones from the newest to the oldest.
func TestSearch(t *testing.T) {
	t.Parallel()
	x := bm25.New([]string{"a red kite", "red", "green tea", "tea green", "the red one of many others here"})
	for query, want := range map[string][]int{
		"red kite": {0, 1, 4}, "Tea": {3, 2}, "reds": {1, 0, 4}, "blue": nil, "the": nil, "": nil,
	} {
		check.Same(t, want, x.Search(query), "%s", query)
	}
}
