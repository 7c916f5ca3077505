package prompt_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

// TestTheSearchGetsWhatTheCallerKnows builds a prompt with and without it. What may be in the prompt is read in both
// cases.
func TestTheSearchGetsWhatTheCallerKnows(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := ann(t, w)
	s := w.service(now)
	build(t, s, "ann", r)
	if w.asked.Embedding != nil || w.asked.Assumed != nil {
		t.Errorf("a caller who knows nothing: %+v", w.asked)
	}
	r.Ahead = &prompt.Ahead{
		Embedding: &recall.Embedding{Model: "small@2", Vector: vector.Dense{1, 0}}, Generation: 3,
	}
	build(t, s, "ann", r)
	assumed := &longterm.Access{Preferences: longterm.DefaultPreferences(), Generation: 3}
	if w.asked.Embedding != r.Ahead.Embedding || !cmp.Equal(assumed, w.asked.Assumed) || w.access.Generation != 0 {
		t.Errorf("asked %+v, read by %+v", w.asked, w.access)
	}
}

// TestTheSearchHasTheTimeThatItsEmbeddingLeft has a search that never ends.
func TestTheSearchHasTheTimeThatItsEmbeddingLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture()
		r := ann(t, w)
		w.delay["search"] = time.Minute
		d := w.deps(now)
		d.Deadlines.Search = 1500 * time.Millisecond
		for took, want := range map[time.Duration]time.Duration{
			0: 1500 * time.Millisecond, time.Second: 500 * time.Millisecond, 2 * time.Second: 0,
			-time.Hour: 1500 * time.Millisecond,
		} {
			r.Ahead = &prompt.Ahead{Embedding: &recall.Embedding{Took: took}}
			began := time.Now()
			build(t, prompt.New(d), "ann", r)
			if waited := time.Since(began); waited != want {
				t.Errorf("waited %v for a search whose embedding took %v", waited, took)
			}
		}
	})
}

func TestSearchText(t *testing.T) {
	t.Parallel()
	for recipe, want := range map[string]string{
		"": "hello", prompt.Unified: "hello", prompt.TieredHistory: "", prompt.WorkingContext: "", "unknown": "",
	} {
		check.Equal(t, want, prompt.SearchText(recipe, "hello"), "%q searches for", recipe)
	}
}
