package cutoff_test

import (
	"testing"

	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestOf scores the first messages, and those that fit a budget, of which only whole ones count.
func TestOf(t *testing.T) {
	t.Parallel()
	list := []cutoff.Message{
		{1500, false, 0.9},
		{1000, true, 0.8},
		{1, false, 0.1},
		{1, false, 0.1},
		{1, false, 0.1},
		{1, false, 0.1},
		{996, true, 0.05},
	}
	want := cutoff.Shares{0.5, 1, 1, 0, 1, 1, 1}
	check.Same(t, want, cutoff.Of(list, list, 2), "the result")
	want[cutoff.B500] = 1 // the longest message is worth less for its tokens than the evidence
	check.Same(t, want, cutoff.Of(list, cutoff.ByValue(list), 2), "by value")
	want = cutoff.Shares{0.25, 0.5, 0.5, 0, 0.5, 0.5, 0.5} // a half of the evidence is not in the ranking
	check.Same(t, want, cutoff.Of(list, list, 4), "of four")
}
