package recall_test

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
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
