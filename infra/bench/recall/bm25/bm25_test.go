package bm25_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/recall/bm25"
)

// TestSearch ranks by rare words, by short texts, and equal ones from the newest to the oldest.
func TestSearch(t *testing.T) {
	t.Parallel()
	x := bm25.New([]string{"a red kite", "red", "green tea", "tea green", "the red one of many others here"})
	for query, want := range map[string][]int{
		"red kite": {0, 1, 4}, "Tea": {3, 2}, "reds": {1, 0, 4}, "blue": nil, "the": nil, "": nil,
	} {
		if diff := cmp.Diff(want, x.Search(query)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", query, diff)
		}
	}
}
