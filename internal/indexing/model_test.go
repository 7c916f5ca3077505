package indexing_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/vector"
)

// twoIndexes is a vector index with a further one, b. It knows which users are in which, and records what each gets.
type twoIndexes struct {
	indexing.Index
	mu      sync.Mutex // guards stored
	in      map[conversation.UserID][]string
	stored  map[string][]vector.Record
	refuses string
}

func (x *twoIndexes) WrittenTo(_ context.Context, user conversation.UserID, _ int64) ([]string, error) {
	return x.in[user], nil
}

func (x *twoIndexes) Upsert(
	_ context.Context, _ conversation.UserID, _ int64, index string, records []vector.Record,
) error {
	if index == x.refuses {
		return errors.New("down")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stored[index] = append(x.stored[index], records...)
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

// TestEachIndexGetsItsModel writes a batch of users who are in one index, in another, in both, and in two indexes of
// one model. Each text is embedded once for each model.
func TestEachIndexGetsItsModel(t *testing.T) {
	t.Parallel()
	x := &twoIndexes{stored: map[string][]vector.Record{}, in: map[conversation.UserID][]string{
		"old": {"first"}, "moving": {"first", "b"}, "new": {"b"}, "near": {"first", "c"},
	}}
	small, large := &countingModel{dimensions: 2}, &countingModel{dimensions: 3}
	indexer := indexing.NewIndexer(small, x, "small@2").
		WithModels(vector.Models{"b": {Embedder: large, Version: "large@3"}})
	batches := []indexing.Batch{said("old"), said("moving"), said("new"), said("near")}
	for i, err := range indexer.IndexBatches(t.Context(), batches) {
		if err != nil {
			t.Errorf("%s: %v", batches[i].User, err)
		}
	}
	got := map[string][]string{}
	for index, records := range x.stored {
		for _, r := range records {
			version, _ := r.Metadata["embedding"].(string)
			if !strings.HasSuffix(version, string(rune('0'+len(r.Dense)))) {
				t.Errorf("%s has %s with %d dimensions of %s", index, r.ID, len(r.Dense), version)
			}
			got[index] = append(got[index], r.ID)
		}
		slices.Sort(got[index])
	}
	want := map[string][]string{"first": {"moving", "near", "old"}, "b": {"moving", "new"}, "c": {"near"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	if small.calls != 1 || len(small.texts) != 3 || large.calls != 1 || len(large.texts) != 2 {
		t.Errorf("embedded %d in %d calls and %d in %d", len(small.texts), small.calls, len(large.texts), large.calls)
	}
	x.refuses = "b"
	errs := indexer.IndexBatches(t.Context(), batches)
	if errs[0] != nil || errs[1] == nil || errs[2] == nil || errs[3] != nil {
		t.Errorf("errors %v while b is down", errs)
	}
}
