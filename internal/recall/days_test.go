package recall_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

// TestADayOfALongHistory asks for a day whose messages share no word with the question, in a history that has more like
// the question than the ranking looks at.
func TestADayOfALongHistory(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.now = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for n := range 14 {
		var alike []string
		for i := range 40 {
			alike = append(alike, fmt.Sprintf("What happened to the lamp number %d in the hall?", 40*n+i))
		}
		s.addIndexed("ann", "coach_conversation", fmt.Sprintf("lamps-%d", n), time.Duration(n+1)*24*time.Hour, alike...)
	}
	const bees = "The bees moved in."
	s.addIndexed("ann", "workout_log", "hive", s.now.Sub(time.Date(2025, 6, 21, 9, 0, 0, 0, time.UTC)), bees)
	for _, asked := range []string{"Which lamp broke on June 21?", "Who moved the lamp in the hall in June 2025?"} {
		q := recall.MessageQuery{Query: asked, Limit: new(recall.MaxMessages)}
		if found := contents(s.recall("ann", q)); !slices.Contains(found, bees) {
			t.Errorf("%s: %q", asked, found)
		}
		if q.Contexts = []string{"coach_conversation"}; slices.Contains(contents(s.recall("ann", q)), bees) {
			t.Errorf("%s: found in another context", asked)
		}
	}
	s.index.refuses = func(q vector.Query) bool { return q.TopK < 400 }
	got := s.recall("ann", recall.MessageQuery{Query: "Which lamp broke on June 21?"})
	if len(got.Records) == 0 || len(got.Degraded) > 0 {
		t.Errorf("without an answer about the day: %d found, %v", len(got.Records), got.Degraded)
	}
	for _, q := range s.index.queries {
		if q.TopK < 400 && !slices.ContainsFunc(q.Filter.Of, func(f vector.Filter) bool { return f.Op == vector.Any }) {
			t.Errorf("a query of days without what else limits the search: %+v", q.Filter)
		}
	}
}

// TestOnlyARankedSearchAsksForDays has a search of summaries and one of documents name a day: each is one query.
func TestOnlyARankedSearchAsksForDays(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.addIndexed("ann", "coach_conversation", "hive", time.Hour, "The bees moved in.")
	const asked = "What was in the hall on 21 June 2025?"
	s.query("ann", recall.ContextQuery{Context: "coach_conversation", Query: asked})
	s.documents(recall.DocumentQuery{Query: asked})
	check.Equal(t, 2, len(s.index.queries), "queries")
}
