package recall_test

import (
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

// TestAnotherModelIsNoSilentMix has an index with vectors of two models of one dimension. Every kind of search leaves
// those of the other model out, and says so, until they are replaced.
func TestAnotherModelIsNoSilentMix(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	before := s.addIndexed("ann", "coach_conversation", "a", time.Hour, "my knee hurts when I run", "rest it for a week")
	search := recall.New(s.store.Recall, s.embed, s.index, recall.Options{
		Version: "other", EmbedTimeout: 20 * time.Second, IndexTimeout: 20 * time.Second,
		Now: func() time.Time { return s.now },
	})
	indexer := indexing.NewIndexer(vector.Held{
		Index: s.index, Model: vector.Model{Embedder: s.embed, Version: "other"},
	})
	after := s.add("ann", "coach_conversation", "b", time.Minute, "the knee is well again")
	check.OK(t, indexer.IndexMessages(t.Context(), "ann", 0, after))
	finds := func(want []string, degraded ...recall.Degradation) {
		t.Helper()
		for _, ranked := range []bool{true, false} {
			found, err := search.Search(t.Context(), "ann", recall.Search{Text: "how is the knee", Limit: 10, Ranked: ranked})
			check.OK(t, err)
			var got []string
			for _, h := range found.Hits {
				got = append(got, h.ID)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || !slices.Equal(found.Degraded, degraded) {
				t.Errorf("ranked %t: found %v, degraded %v; want %v, %v", ranked, got, found.Degraded, want, degraded)
			}
		}
	}
	finds([]string{after[0].ID},
		recall.Degradation{Source: s.index.Source(), Reason: "has vectors of another embedding model"})
	check.OK(t, indexer.IndexMessages(t.Context(), "ann", 0, before))
	finds([]string{after[0].ID, before[0].ID, before[1].ID})
}
