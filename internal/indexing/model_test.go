package indexing_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/vector"
)

// storing is a vector index that records what it gets, until it refuses all.
type storing struct {
	vector.Index
	mu      sync.Mutex // guards stored
	stored  []vector.Record
	refuses bool
}

func (*storing) Room(context.Context, conversation.UserID, int64) error { return nil }

func (x *storing) Upsert(_ context.Context, _ conversation.UserID, _ int64, records []vector.Record) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.refuses {
		return errors.New("down")
	}
	x.stored = append(x.stored, records...)
	return nil
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

func said(user conversation.UserID) indexing.Batch {
	m := conversation.Message{
		ID: string(user), SessionID: "s", Context: "workout_log", Content: "by " + string(user), Timestamp: evening,
	}
	return indexing.Batch{User: user, Messages: []conversation.Message{m}}
}

// TestBothIndexesGetAllVectors has a next index of another model, and one of the same model. Each text is embedded once
// for each model, and an upload has an error when one of its indexes does not take it.
func TestBothIndexesGetAllVectors(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{"another model": "large@3", "the same model": "small@2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			indexes := []*storing{{}, {}}
			models := map[string]*countingModel{"small@2": {dimensions: 2}, "large@3": {dimensions: 3}}
			held := make([]vector.Held, len(indexes))
			for i, version := range []string{"small@2", next} {
				model := vector.Model{Embedder: models[version], Version: version}
				held[i] = vector.Held{Index: indexes[i], Model: model}
			}
			batches := []indexing.Batch{said("ann"), said("bela")}
			indexer := indexing.NewIndexer(held...)
			if errs := indexer.IndexBatches(t.Context(), batches); errs[0] != nil || errs[1] != nil {
				t.Error(errs)
			}
			for i, x := range indexes {
				var ids []string
				for _, r := range x.stored {
					ids = append(ids, r.ID)
					if version := held[i].Version; r.Metadata["embedding"] != version || len(r.Dense) != models[version].dimensions {
						t.Errorf("index %d has %s with %d dimensions of %s", i, r.ID, len(r.Dense), r.Metadata["embedding"])
					}
				}
				if slices.Sort(ids); !slices.Equal(ids, []string{"ann", "bela"}) {
					t.Errorf("index %d has %s", i, ids)
				}
			}
			for version, m := range models {
				if want := version == "small@2" || version == next; (m.calls == 1) != want || m.calls > 1 {
					t.Errorf("%d calls of %s", m.calls, version)
				}
			}
			indexes[1].refuses = true
			if errs := indexer.IndexBatches(t.Context(), batches); errs[0] == nil || errs[1] == nil {
				t.Errorf("errors %v while the next index is down", errs)
			}
			if len(indexes[0].stored) != 4 {
				t.Error("the current index waits for the next one")
			}
		})
	}
}
