package vector

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"github.com/throughline/throughline/internal/word"
)

// MaxTerms is how many different terms a sparse vector has at most. It keeps the heaviest. Indexes have limits of their
// own, such as 2,048 values.
const MaxTerms = 1000

// Encode returns the sparse vector of a text. It has one index for each term of the text, with the value
// 1 + log(frequency) times its share (see word.Weighted), and is normalised to length 1. The dot product of two such
// vectors is their cosine, as it is for normalised dense vectors, so the two can be added (see Hybrid). Encode is
// deterministic. A text without terms gives an empty vector.
func Encode(text string) Sparse {
	counts, shares := map[uint32]int{}, map[uint32]float64{}
	for term, share := range word.Weighted(text) {
		i := index(term)
		counts[i]++
		shares[i] = max(shares[i], share)
	}
	weights := make([]weight, 0, len(counts))
	for i, n := range counts {
		weights = append(weights, weight{i, shares[i] * (1 + math.Log(float64(n)))})
	}
	return normalised(heaviest(weights))
}

// index returns a 32-bit hash of a term. Two terms with the same hash count as one. Among 100,000 terms, about one pair
// has the same hash.
func index(term string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(term))
	return h.Sum32()
}

type weight struct {
	index uint32
	value float64
}

// heaviest keeps MaxTerms weights and returns them by index.
func heaviest(weights []weight) []weight {
	slices.SortFunc(weights, func(a, b weight) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.index, b.index))
	})
	weights = weights[:min(len(weights), MaxTerms)]
	slices.SortFunc(weights, func(a, b weight) int { return cmp.Compare(a.index, b.index) })
	return weights
}

func normalised(weights []weight) Sparse {
	var squares float64
	for _, w := range weights {
		squares += w.value * w.value
	}
	norm := math.Sqrt(squares)
	out := Sparse{Indices: make([]uint32, len(weights)), Values: make([]float32, len(weights))}
	for i, w := range weights {
		out.Indices[i], out.Values[i] = w.index, float32(w.value/norm)
	}
	return out
}

// Dot returns the dot product of two sparse vectors.
func (s Sparse) Dot(t Sparse) float64 {
	var sum float64
	for i, j := 0, 0; i < len(s.Indices) && j < len(t.Indices); {
		switch {
		case s.Indices[i] < t.Indices[j]:
			i++
		case s.Indices[i] > t.Indices[j]:
			j++
		default:
			sum += float64(s.Values[i]) * float64(t.Values[j])
			i, j = i+1, j+1
		}
	}
	return sum
}

// DenseShare is the weight of the dense vector in a hybrid score. The weight of the sparse vector is 1 - DenseShare, so
// the best score is 1. The service adds the two dot products, so the weights are applied to the query. With one half,
// an exact name or word (sparse) competes with a paraphrase (dense).
const DenseShare = 0.5

// Hybrid scales the two vectors of a query by their weights. The vectors of records are not scaled. A query without a
// sparse vector keeps its dense vector unchanged.
func Hybrid(dense []float32, sparse Sparse) ([]float32, Sparse) {
	if len(sparse.Indices) == 0 {
		return dense, Sparse{}
	}
	return scaled(dense, DenseShare), Sparse{Indices: sparse.Indices, Values: scaled(sparse.Values, 1-DenseShare)}
}

func scaled(values []float32, by float32) []float32 {
	out := make([]float32, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}
