// Package bm25 ranks whole messages by BM25, the ranking that others are compared with. Its terms are those of package
// word: stems of words, of Chinese each two characters that stand together.
package bm25

import (
	"cmp"
	"math"
	"slices"

	"github.com/throughline/throughline/internal/word"
)

// The parameters of BM25, as they are usually set.
const (
	k1 = 1.2
	b  = 0.75
)

// Index counts the words of texts. It may be used concurrently.
type Index struct {
	counts  []map[string]float64
	lengths []float64
	mean    float64
	has     map[string]float64
}

// New counts the words of texts, which are ordered from the oldest to the newest.
func New(texts []string) *Index {
	x := &Index{has: map[string]float64{}}
	for _, text := range texts {
		counts := map[string]float64{}
		terms := word.Terms(text)
		for _, term := range terms {
			if counts[term]++; counts[term] == 1 {
				x.has[term]++
			}
		}
		x.counts, x.lengths = append(x.counts, counts), append(x.lengths, float64(len(terms)))
		x.mean += float64(len(terms)) / float64(len(texts))
	}
	return x
}

// Search returns the places of the texts that share a word with the query, the best first, those of equal score from
// the newest to the oldest.
func (x *Index) Search(query string) []int {
	scores := make([]float64, len(x.counts))
	for _, term := range word.Terms(query) {
		all, has := float64(len(x.counts)), x.has[term]
		rarity := math.Log1p((all - has + 0.5) / (has + 0.5))
		for i, counts := range x.counts {
			n := counts[term]
			scores[i] += rarity * n * (k1 + 1) / (n + k1*(1-b+b*x.lengths[i]/x.mean))
		}
	}
	var order []int
	for i, score := range scores {
		if score > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(scores[j], scores[i]), cmp.Compare(j, i)) })
	return order
}
