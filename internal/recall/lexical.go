package recall

import (
	"math"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// The parameters of BM25, as they are commonly set.
const (
	saturation   = 1.2
	lengthWeight = 0.75
)

// lexical scores texts against a query by the words they share (BM25 among these texts alone): what is left to rank
// by when the embedding or the index does not answer. Scores are at least 0, and 0 says that no word is shared.
func lexical(query string, texts []string) []float64 {
	terms := unique(vector.Terms(truncate.Bytes(query, maxQueryBytes)))
	finder := vector.NewFinder(terms)
	counts, lengths, mean := make([][]int, len(texts)), make([]float64, len(texts)), 0.0
	containing := make([]float64, len(terms))
	for i, text := range texts {
		var n int
		counts[i], n = finder.Count(truncate.Bytes(text, maxPartBytes))
		lengths[i] = float64(n)
		mean += float64(n) / float64(len(texts))
		for term, tf := range counts[i] {
			if tf > 0 {
				containing[term]++
			}
		}
	}
	scores := make([]float64, len(texts))
	for term, n := range containing {
		rarity := math.Log(1 + (float64(len(texts))-n+0.5)/(n+0.5))
		for i := range texts {
			if tf := float64(counts[i][term]); tf > 0 {
				norm := 1 - lengthWeight + lengthWeight*lengths[i]/mean
				scores[i] += rarity * tf * (saturation + 1) / (tf + saturation*norm)
			}
		}
	}
	return scores
}

func unique(terms []string) []string {
	seen := map[string]bool{}
	out := terms[:0]
	for _, t := range terms {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}
