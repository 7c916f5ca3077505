package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestFloor checks that a ranking is refused where it finds less than the index or BM25, on a data set or for a class
// of its questions, unless that is noise.
func TestFloor(t *testing.T) {
	t.Parallel()
	// In each pool the evidence is the best record by the index, and the last one by the ranking where it fails.
	draw := func(set, category string, count, fails int) (pools []pool) {
		for n := range count {
			p := pool{set: set, category: category, evidence: 1, relevant: make([]bool, 20), chars: make([]int, 20)}
			p.relevant[0], p.index = true, make([]float64, 20)
			p.index[0] = 1
			if n < fails {
				p.conversation = "fails"
			}
			pools = append(pools, p)
		}
		return pools
	}
	r := by(func(p pool) []float64 {
		scores := make([]float64, p.size())
		for i := range scores {
			scores[i] = -float64(i)
			if p.conversation == "fails" {
				scores[i] = float64(i)
			}
		}
		return scores
	})
	for name, tt := range map[string]struct {
		pools []pool
		want  string
	}{
		"no failure": {draw("a", "one", 50, 0), ""},
		"noise":      {draw("a", "one", 50, 2), ""},
		"a set":      {draw("a", "one", 50, 25), "a: R@10 is 50.0 points below the index"},
		"a class":    {slices.Concat(draw("a", "one", 900, 0), draw("a", "two", 12, 8)), "a two: R@10 is 66.7 points"},
		"guesses": {
			slices.Concat(draw("a", "one", 50, 0), draw("a", "+chat", 50, 50), draw("a", "session label", 9, 9)), "",
		},
		"all of it": {slices.Concat(draw("a", "one", 50, 25), draw("b", "one", 50, 25)), "(noise 7.1); b: R@10 is 50.0"},
		"its name":  {draw("a", "one", 50, 25), "weights fitted on others find too little"},
	} {
		err := checkFloor(tt.pools, "others", r)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	words := draw("a", "one", 50, 50)
	for i := range words {
		words[i].index, words[i].words = make([]float64, 20), []cutoff.Message{{Relevant: true}}
		words[i].relevant[0], words[i].relevant[19] = false, true
		words[i].conversation = ""
	}
	if err := checkFloor(words, "others", r); err == nil || !strings.Contains(err.Error(), "BM25") {
		t.Errorf("below BM25: %v", err)
	}
	long := draw("a", "one", 50, 0)
	for i := range long {
		for j := range long[i].chars {
			long[i].chars[j] = 300
		}
	}
	ninth := by(func(p pool) []float64 {
		scores := make([]float64, p.size())
		for i := range scores {
			scores[i] = -float64(i)
		}
		scores[0] = -8.5 // its 300 characters begin after 2,400 others
		return scores
	})
	err := checkFloor(long, "others", ninth)
	if err == nil || !strings.Contains(err.Error(), "a: B500 is 100.0 points") || strings.Contains(err.Error(), "R@10") {
		t.Errorf("below the index within 500 tokens: %v", err)
	}
}

// TestIndexShares checks what the index's own score finds, of each data set and of each class of its questions.
func TestIndexShares(t *testing.T) {
	t.Parallel()
	var pools []pool
	for _, category := range []string{"one", "one", "two", ""} { // the last is small talk
		p := pool{set: "a", category: category, evidence: 1, relevant: make([]bool, 20), chars: make([]int, 20)}
		p.index = make([]float64, 20)
		for i := range p.index {
			p.index[i] = -float64(i)
		}
		p.relevant[0] = category == "one"
		p.relevant[7] = category == "two"
		pools = append(pools, p)
	}
	got := map[string]float64{}
	for class, shares := range indexShares(pools)["a"] {
		got[class] = shares[cutoff.R5]
	}
	check.Same(t, map[string]float64{"one": 1, "two": 0, evidence.All: 2.0 / 3}, got, "the result")
}
