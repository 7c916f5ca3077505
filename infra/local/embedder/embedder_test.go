package embedder_test

import (
	"math"
	"strings"
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

func TestEmbedPlacesWordFormsTogether(t *testing.T) {
	t.Parallel()
	e := embedder.New()
	like := func(a, b string) float64 {
		return dot(e.Embed(a, embedder.DefaultDimensions), e.Embed(b, embedder.DefaultDimensions))
	}
	tests := []struct {
		name, a, b string
		atLeast    float64
	}{
		{"plural", "squats", "squat", 0.99},
		{"past", "I swapped the exercise", "swap the exercise", 0.99},
		{"irregular", "we ran and swam", "running and swimming", 0.99},
		{"typographic apostrophe", "Ana’s knee", "Ana's knee", 0.99},
		{"shared words", "banded glute bridges at home", "Do glute bridges with a band.", 0.35},
		{"one field of meaning", "my brother", "a sister", 0.05},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := like(tt.a, tt.b); got < tt.atLeast {
				t.Errorf("likeness of %q and %q = %.3f, want at least %.2f", tt.a, tt.b, got, tt.atLeast)
			}
		})
	}
	near := like("What did we say about hip thrusts?", "I want to swap barbell hip thrusts for bridges.")
	far := like("What did we say about hip thrusts?", "My daughter starts school in September.")
	if near < far+0.2 {
		t.Errorf("near %.3f is not clearly above far %.3f", near, far)
	}
}

func TestEmbedIgnoresTheOneSpokenTo(t *testing.T) {
	t.Parallel()
	e := embedder.New()
	question := e.Embed("What did Caroline paint?", 1536)
	thanks := e.Embed("Thanks, Caroline! That is lovely.", 1536)
	painted := e.Embed("I painted a lake last summer.", 1536)
	if dot(question, thanks) >= dot(question, painted) {
		t.Errorf("a greeting (%.3f) is nearer than the answer (%.3f)", dot(question, thanks), dot(question, painted))
	}
}

func TestEmbedIsUnitInEveryDimension(t *testing.T) {
	t.Parallel()
	e := embedder.New()
	for dimensions := 1; dimensions <= embedder.MaxDimensions; dimensions++ {
		v := e.Embed("deadlift day 🏋️", dimensions)
		if len(v) != dimensions || math.Abs(dot(v, v)-1) > 1e-5 {
			t.Fatalf("dimensions %d: %d values, squared length %v", dimensions, len(v), dot(v, v))
		}
	}
}

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

func TestEmbedOfNoWordsDistinguishesTexts(t *testing.T) {
	t.Parallel()
	e := embedder.New()
	texts := []string{" ", "🎉", "???", "what did we do", "漢字", strings.Repeat("\x00", 3)}
	for i, a := range texts {
		for _, b := range texts[i+1:] {
			if likeness := dot(e.Embed(a, 1536), e.Embed(b, 1536)); likeness > 0.5 {
				t.Errorf("%q and %q are as near as %.2f", a, b, likeness)
			}
		}
	}
}
