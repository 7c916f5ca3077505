package recall

import (
	"math"

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
	counts, lengths, containing := count(texts)
	mean := 0.0
	for _, n := range lengths {
		mean += n / float64(len(texts))
	}
	scores := make([]float64, len(texts))
	for _, term := range unique(vector.Terms(clip(query, maxQueryBytes))) {
		n := float64(containing[term])
		rarity := math.Log(1 + (float64(len(texts))-n+0.5)/(n+0.5))
		for i, c := range counts {
			if tf := float64(c[term]); tf > 0 {
				norm := 1 - lengthWeight + lengthWeight*lengths[i]/mean
				scores[i] += rarity * tf * (saturation + 1) / (tf + saturation*norm)
			}
		}
	}
	return scores
}

// count returns each text's terms and length, and in how many texts each term is.
func count(texts []string) (counts []map[string]int, lengths []float64, containing map[string]int) {
	counts, lengths = make([]map[string]int, len(texts)), make([]float64, len(texts))
	containing = map[string]int{}
	for i, text := range texts {
		terms := vector.Terms(clip(text, maxPartBytes))
		counts[i], lengths[i] = map[string]int{}, float64(len(terms))
		for _, term := range terms {
			if counts[i][term]++; counts[i][term] == 1 {
				containing[term]++
			}
		}
	}
	return counts, lengths, containing
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
