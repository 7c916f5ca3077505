package vector_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

func TestEncodeIsACosine(t *testing.T) {
	t.Parallel()
	query := vector.Encode("hip thrust alternatives")
	exact := query.Dot(vector.Encode("Hip thrusts: alternatives?"))
	near := query.Dot(vector.Encode("I swapped my hip thrusts for banded glute bridges"))
	far := query.Dot(vector.Encode("My sister visits on Sunday"))
	if math.Abs(exact-1) > 1e-6 {
		t.Errorf("the same terms score %v, want 1", exact)
	}
	if near <= 0 || near >= exact {
		t.Errorf("shared terms score %v, want between 0 and %v", near, exact)
	}
	if far != 0 {
		t.Errorf("no shared term scores %v, want 0", far)
	}
}

func TestEncodeKeepsTheServiceLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		s := vector.Encode(text)
		if len(s.Indices) != len(s.Values) || len(s.Indices) > vector.MaxTerms {
			t.Fatalf("%d indices, %d values", len(s.Indices), len(s.Values))
		}
		if !slices.IsSorted(s.Indices) || len(slices.Compact(slices.Clone(s.Indices))) != len(s.Indices) {
			t.Fatalf("indices are not ascending, each once: %v", s.Indices)
		}
		if len(s.Indices) > 0 && math.Abs(s.Dot(s)-1) > 1e-5 {
			t.Fatalf("length %v, want 1", s.Dot(s))
		}
		if diff := cmp.Diff(s, vector.Encode(text)); diff != "" {
			t.Fatalf("not deterministic\n%s", diff)
		}
	})
}

func TestEncodeKeepsTheHeaviestTerms(t *testing.T) {
	t.Parallel()
	var words strings.Builder
	for i := range 3 * vector.MaxTerms {
		words.WriteString("w" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)) + "q ")
	}
	s := vector.Encode("squat squat squat " + words.String())
	if len(s.Indices) != vector.MaxTerms {
		t.Fatalf("%d terms, want %d", len(s.Indices), vector.MaxTerms)
	}
	if vector.Encode("squat").Dot(s) == 0 {
		t.Error("the most frequent term was left out")
	}
}

func TestHybrid(t *testing.T) {
	t.Parallel()
	dense, sparse := vector.Hybrid([]float32{1, 0}, vector.Encode("squat"))
	check.Same(t, []float32{vector.DenseShare, 0}, dense, "dense")
	check.Same(t, []float32{1 - vector.DenseShare}, sparse.Values, "sparse")
	alone, none := vector.Hybrid([]float32{1, 0}, vector.Sparse{})
	if diff := cmp.Diff([]float32{1, 0}, alone); diff != "" || len(none.Indices) != 0 {
		t.Errorf("a query without terms was scaled: %v %v", alone, none)
	}
}
