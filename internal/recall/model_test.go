package recall_test

import (
	"context"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

// queriedIndex records its queries.
type queriedIndex struct{ queries []vector.Query }

func (x *queriedIndex) Source() string { return "queried" }

func (x *queriedIndex) Query(
	_ context.Context, _ conversation.UserID, _ int64, q vector.Query,
) ([]vector.Match, error) {
	x.queries = append(x.queries, q)
	return nil, nil
}

// countingModel gives vectors of as many dimensions as it says.
type countingModel struct {
	dimensions int
	texts      []string
	calls      int
}

func (m *countingModel) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.calls++
	m.texts = append(m.texts, texts...)
	vectors := make([][]float32, len(texts))
	for i := range texts {
		vectors[i] = make([]float32, m.dimensions)
	}
	return vectors, nil
}

// TestASearchHasTheModelOfTheUsersIndex searches for users of two indexes.
func TestASearchHasTheModelOfTheUsersIndex(t *testing.T) {
	t.Parallel()
	x := &queriedIndex{}
	small, large := &countingModel{dimensions: 2}, &countingModel{dimensions: 3}
	s := recall.New(nil, small, x, recall.Options{Models: vector.Models{"b": {Embedder: large}}})
	for index, want := range map[string]int{"": 2, "first": 2, "b": 3} {
		x.queries = nil
		_, err := s.Search(t.Context(), "ann", recall.Search{
			Text: "knee", Limit: 1, Access: func(context.Context) (longterm.Access, error) {
				return longterm.Access{Preferences: longterm.DefaultPreferences(), Index: index}, nil
			},
		})
		if err != nil || len(x.queries) != 1 || x.queries[0].Index != index || len(x.queries[0].Dense) != want {
			t.Errorf("index %q: %+v, %v", index, x.queries, err)
		}
	}
	if small.calls != 2 || large.calls != 1 {
		t.Errorf("%d and %d embeddings, want 2 and 1", small.calls, large.calls)
	}
}
