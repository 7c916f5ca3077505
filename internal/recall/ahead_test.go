package recall_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

// asked is one query of the index.
type asked struct {
	Generation int64
	Filter     vector.Filter
}

// watchedIndex records its queries. answer, where set, answers the query of a number.
type watchedIndex struct {
	asked  chan asked
	answer func(n int) error
	// begun is closed by the first query.
	begun chan struct{}
	once  sync.Once
}

func newWatchedIndex() *watchedIndex {
	return &watchedIndex{asked: make(chan asked, 4), begun: make(chan struct{})}
}

func (x *watchedIndex) Source() string { return "watched" }

func (x *watchedIndex) Query(
	_ context.Context, _ conversation.UserID, generation int64, q vector.Query,
) ([]vector.Match, error) {
	n := len(x.asked)
	x.asked <- asked{generation, q.Filter}
	x.once.Do(func() { close(x.begun) })
	if x.answer != nil {
		return nil, x.answer(n)
	}
	return nil, nil
}

// queries returns what the index was asked, in order.
func (x *watchedIndex) queries() (all []asked) {
	close(x.asked)
	for q := range x.asked {
		all = append(all, q)
	}
	return all
}

// TestASearchAsksWhatItMayAssume gives searches what the caller takes for the user's access. They use the answer only
// if the access that is read allows the same query.
func TestASearchAsksWhatItMayAssume(t *testing.T) {
	t.Parallel()
	usual := longterm.Access{Preferences: defaults(), Generation: 3}
	zone, alone, erased := usual, usual, usual
	zone.Preferences.Timezone, zone.Preferences.Memory = "Europe/Berlin", false
	alone.Preferences.CrossContext = false
	erased.Generation = 4
	filter := vector.Where("recordType", vector.In, []string{"message"})
	own := vector.AllOf(filter, vector.Where("sessionId", vector.Equal, "s"))
	first := asked{3, filter}
	for name, tt := range map[string]struct {
		access longterm.Access
		want   []asked
	}{
		"as assumed":                    {usual, []asked{first}},
		"preferences of no consequence": {zone, []asked{first}},
		"without other sessions":        {alone, []asked{first, {3, own}}},
		"erased meanwhile":              {erased, []asked{first, {4, filter}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWatchedIndex()
			x.answer = func(n int) error {
				if n+1 < len(tt.want) {
					return errors.New("the wrong query failed")
				}
				return nil
			}
			s := recall.New(nil, &countingModel{dimensions: 2}, x, recall.Options{})
			found, err := s.Search(t.Context(), "ann", recall.Search{
				Text: "knee", Limit: 1, RecordTypes: []string{vector.MessageRecord}, Context: "workout_log", SessionID: "s",
				Assumed: &usual,
				Access: func(context.Context) (longterm.Access, error) {
					<-x.begun // the query does not wait for the access
					return tt.access, nil
				},
			})
			if err != nil || len(found.Degraded) > 0 {
				t.Errorf("%+v, %v", found, err)
			}
			check.Same(t, tt.want, x.queries(), "queries")
		})
	}
}

// TestASearchTakesTheVectorOfItsModel gives searches vectors that were made before.
func TestASearchTakesTheVectorOfItsModel(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		made *recall.Embedding
		// dimensions are those of the query, 0 for none. calls counts what the model embedded.
		dimensions, calls int
	}{
		"its model":               {&recall.Embedding{Model: "small@2", Vector: make(vector.Dense, 2)}, 2, 0},
		"another version":         {&recall.Embedding{Model: "small@4", Vector: make(vector.Dense, 4)}, 2, 1},
		"a model without answer":  {&recall.Embedding{Model: "small@2", Took: time.Second}, 0, 0},
		"nothing was made before": {nil, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &queriedIndex{}
			model := &countingModel{dimensions: 2}
			s := recall.New(nil, model, x, recall.Options{Version: "small@2"})
			found, err := s.Search(t.Context(), "ann", recall.Search{
				Text: "knee", Limit: 1, Embedding: tt.made, Access: func(context.Context) (longterm.Access, error) {
					return longterm.Access{Preferences: defaults()}, nil
				},
			})
			if err != nil || model.calls != tt.calls {
				t.Errorf("%d embeddings, %v", model.calls, err)
			}
			dimensions := 0
			for _, q := range x.queries {
				dimensions += len(q.Dense)
			}
			if degraded := len(found.Degraded) > 0; dimensions != tt.dimensions || degraded != (tt.dimensions == 0) {
				t.Errorf("queries of %d dimensions, %+v", dimensions, found)
			}
			if tt.dimensions == 0 && found.Degraded[0].Source != recall.EmbeddingSource {
				t.Errorf("degraded %+v", found.Degraded)
			}
		})
	}
}

// TestEmbed makes the vector of a search that is still to come.
func TestEmbed(t *testing.T) {
	t.Parallel()
	model := &countingModel{dimensions: 2}
	s := recall.New(nil, model, nil, recall.Options{Version: "small@2"})
	if e := s.Embed(t.Context(), "knee"); e.Model != "small@2" || len(e.Vector) != 2 || model.texts[0] != "knee" {
		t.Errorf("%+v of %q", e, model.texts)
	}
	failing := &faultyEmbedder{fault: func(context.Context) error { return errors.New("down") }}
	s = recall.New(nil, failing, nil, recall.Options{Version: "small@2"})
	if e := s.Embed(t.Context(), "knee"); e == nil || e.Model != "small@2" || len(e.Vector) != 0 {
		t.Errorf("%+v of a model that is down", e)
	}
}
