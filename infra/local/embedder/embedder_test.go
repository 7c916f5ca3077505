package embedder_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/infra/local/embedder"
)

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestEmbedProperties embeds any text. TestEmbeddingsStayTheSame holds what the vectors are.
func TestEmbedProperties(t *testing.T) {
	t.Parallel()
	e, again := embedder.New(), embedder.New()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		dimensions := rapid.IntRange(1, embedder.MaxDimensions).Draw(t, "dimensions")
		v := e.Embed(text, dimensions)
		if diff := cmp.Diff(v, again.Embed(text, dimensions)); diff != "" {
			t.Fatalf("not deterministic: %s", diff)
		}
		if length := dot(v, v); math.IsNaN(length) || math.Abs(length-1) > 1e-5 {
			t.Fatalf("squared length %v", length)
		}
	})
}
