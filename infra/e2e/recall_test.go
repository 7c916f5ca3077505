package e2e_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/dataset"
	"github.com/throughline/throughline/infra/recallbench/evidence"
)

// TestRecallFindsEvidence imports two users who do not alternate with the assistant, one of them in German, and asks
// what they have said. The floors are a little below what is found.
func TestRecallFindsEvidence(t *testing.T) {
	t.Parallel()
	conversations, err := dataset.Read("../recallbench/testdata/monologues.json")
	if err != nil {
		t.Fatal(err)
	}
	b, err := evidence.Load(t.Context(), client.New(shared.Base), conversations, 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	found, err := b.Recall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	score, words := found[evidence.All], b.BM25()[evidence.All]
	t.Logf("recall %+v, BM25 %+v, newest %+v", *score, *words, *b.Newest()[evidence.All])
	if score.Ranks[0] < 0.75 || score.Ranks[1] < 0.85 || score.Ranks[0] < words.Ranks[0] {
		t.Errorf("R@5 %.2f, R@10 %.2f, and BM25 has %.2f", score.Ranks[0], score.Ranks[1], words.Ranks[0])
	}
	prompts, err := b.Prompts(t.Context())
	if err != nil || prompts.Any[evidence.All] < 0.9 {
		t.Errorf("%.2f of the evidence is in the prompts, %v", prompts.Any[evidence.All], err)
	}
	coverage, err := b.Summaries(t.Context())
	if err != nil || coverage.Questions != score.Questions || coverage.Summaries <= 0 || coverage.Messages < 0.5 {
		t.Errorf("summaries %+v, %v", coverage, err)
	}
	t.Logf("prompts %.2f, whole %.2f, summaries %+v", prompts.Any[evidence.All], prompts.Whole[evidence.All], coverage)
}
