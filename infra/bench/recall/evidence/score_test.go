package evidence

import (
	"testing"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/internal/testing/check"
)

// bench is a bench with a conversation of three messages and a question for two of them, without a stack.
func bench() *Bench {
	c := &dataset.Conversation{ID: "ana", Sessions: []dataset.Session{{Messages: []dataset.Message{
		{ID: "1", Content: "the red kite over the harbour"}, {ID: "2", Content: "a red boat"}, {ID: "3", Content: "tea"},
	}}}}
	return &Bench{
		ids: map[string]map[string]string{"ana": {"1": "m1", "2": "m2", "3": "m3"}},
		Cases: []Case{
			{c, dataset.Question{Text: "red kite", Category: "colour"}, map[string]bool{"m1": true}},
			{c, dataset.Question{Text: "tea and a boat?", Category: "drink"}, map[string]bool{"m2": true, "m3": true}},
		},
	}
}

// TestBaseline orders the messages by words.
func TestBaseline(t *testing.T) {
	t.Parallel()
	b := bench()
	words := Mean(b.BM25())
	if words["drink"].Questions != 1 || words[All].Questions != 2 {
		t.Errorf("%+v", words)
	}
	check.Same(t, []string{"colour", "drink", All}, words.Categories(), "the result")
	if _, shares := words[All].Worst(); shares != (PromptShares{1, 1}) {
		t.Errorf("%+v of the evidence is within the budget of a prompt", shares)
	}
}

// TestMean takes the mean of the questions of each category, and of all, at each place.
func TestMean(t *testing.T) {
	t.Parallel()
	kitchen, office := Place{Context: "kitchen"}, Place{"office", true}
	at := func(in float64) map[Place]PromptShares {
		return map[Place]PromptShares{kitchen: {in, in / 2}, office: {0.5, 0}}
	}
	got := Mean([]Found{
		{"colour", cutoff.Shares{1, 1}, at(1)}, {"drink", cutoff.Shares{0, 1}, at(0.5)}, {"drink", cutoff.Shares{}, at(0)},
	})
	want := Scores{
		"colour": {1, cutoff.Shares{1, 1}, at(1)}, "drink": {2, cutoff.Shares{0, 0.5}, at(0.25)},
		All: {3, cutoff.Shares{1.0 / 3, 2.0 / 3}, at(0.5)},
	}
	check.Same(t, want, got, "the result")
	if place, shares := got["drink"].Worst(); place != kitchen || shares.In != 0.25 {
		t.Errorf("%v has %+v", place, shares)
	}
}

// TestSharesIn counts a message of which a prompt has a part, those that are whole in one of its blocks, and each once.
func TestSharesIn(t *testing.T) {
	t.Parallel()
	c := Case{Evidence: map[string]bool{"m1": true, "m2": true, "m3": true, "m4": true}}
	var blocks [2]block
	for i, items := range [][]struct{ ID, Decision string }{
		{{"m1", "included"}, {"m2", "trimmed"}, {"m3", "dropped"}, {"m4", "trimmed"}, {"other", "included"}},
		{{"m1", "trimmed"}, {"m4", "included"}, {"m2", "dropped"}},
	} {
		blocks[i].Items = items
	}
	check.Equal(t, (PromptShares{0.75, 0.5}), c.sharesIn(blocks[:]), "of the evidence is in the prompt")
}
