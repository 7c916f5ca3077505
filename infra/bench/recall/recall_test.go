package main

import (
	"testing"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/bench/stacktest"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// TestRecallFindsEvidence imports two users who do not alternate with the assistant, one of them in German, and asks
// what they have said. The floors are a little below what is found.
func TestRecallFindsEvidence(t *testing.T) {
	t.Parallel()
	sets := check.Got(dataset.ReadSets("testdata/monologues.json"))(t)
	running := stacktest.Start(t)
	b := check.Got(evidence.Load(t.Context(), client.New(running.URL()), sets))(t)
	found := check.Got(b.Recall(t.Context()))(t)
	check.OK(t, b.AddPrompts(t.Context(), evidence.Places(registry.Live().ContextNames()), found))
	all := func(found []evidence.Found) evidence.Score { return *evidence.Mean(found)[evidence.All] }
	score, words := all(found), all(b.BM25())
	t.Logf("recall %+v, BM25 %+v", score, words)
	if r5, r10, floor := score.Shares[cutoff.R5], score.Shares[cutoff.R10], words.Shares[cutoff.R5]; r5 < 0.75 ||
		r10 < 0.85 || r5 < floor {
		t.Errorf("R@5 %.2f, R@10 %.2f, and BM25 has %.2f", r5, r10, floor)
	}
	if place, prompt := score.Worst(); prompt.In < 0.9 {
		t.Errorf("%.2f of the evidence is in the prompts of %v", prompt.In, place)
	}
}

func TestMain(m *testing.M) { dynamodbtest.Main(m) }
