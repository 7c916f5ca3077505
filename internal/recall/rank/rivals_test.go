package rank_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/throughline/throughline/internal/recall/rank"
)

// TestRivals checks that all records of a pool have the same rivals, that each is less likely for what the others have,
// and that the only record is not likely for want of others.
func TestRivals(t *testing.T) {
	t.Parallel()
	if few, many := rank.Rivals(nil), rank.Rivals([]float64{12, 12}); few != 9 || math.Abs(many-12.718) > 0.01 {
		t.Errorf("rivals %v and %v", few, many)
	}
	column := slices.Index(rank.Names[:], "rivals")
	query := rank.NewQuery("Which doctor looked at my knee?", now)
	var pool []rank.Candidate
	for i := range 40 {
		pool = append(pool, rank.Candidate{
			ID: fmt.Sprintf("m%02d", i), Session: fmt.Sprint(i), Seq: 1, Role: "user", Time: now,
			Text: "The doctor looked at my knee and had nothing to say about it.",
		})
	}
	results := rank.Default().Rank(query, pool)
	rivals := results[0].Contributions[column]
	if alone := rank.Default().Rank(query, pool[:1])[0].Contributions[column]; rivals > alone-0.5 {
		t.Errorf("40 records alike lose %.2f, and one loses %.2f", rivals, alone)
	}
	for _, r := range results {
		if r.Contributions[column] != rivals {
			t.Errorf("%s has other rivals: %v", r.ID, r.Contributions)
		}
	}
	other := []rank.Candidate{{ID: "a", Session: "s", Seq: 1, Role: "user", Time: now, Text: "I water the garden."}}
	if got := rank.Default().Rank(query, other)[0]; got.Probability > 0.02 {
		t.Errorf("the only record, which has no word of the query, has %.3f", got.Probability)
	}
}
