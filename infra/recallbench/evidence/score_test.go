package evidence

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/dataset"
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

func TestScore(t *testing.T) {
	t.Parallel()
	list := []ranked{
		{"a", strings.Repeat("x", 1500), 0.9},
		{"m1", strings.Repeat("x", 1000), 0.8},
		{"b", "x", 0.1},
		{"c", "x", 0.1},
		{"d", "x", 0.1},
		{"e", "x", 0.1},
		{"m2", strings.Repeat("y", 996), 0.05},
	}
	got := scoreOf(map[string]bool{"m1": true, "m2": true}, list, inOrder(list))
	want := Score{Questions: 1, Ranks: [3]float64{0.5, 1, 1}, Budgets: [4]float64{0, 1, 1, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got = scoreOf(map[string]bool{"m1": true, "m2": true}, list, byValue(list))
	want.Budgets[0] = 1 // the longest message is worth less for its tokens than m1
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by value (-want +got)\n%s", diff)
	}
}

// TestBaselines orders the messages by time and by words.
func TestBaselines(t *testing.T) {
	t.Parallel()
	b := bench()
	if got := b.Newest(); got[All].Ranks[0] != 1 || got["drink"].Questions != 1 || got[All].Questions != 2 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"colour", "drink", All}, b.BM25().Categories()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestMerge weighs parts by their questions.
func TestMerge(t *testing.T) {
	t.Parallel()
	one := Scores{All: {Questions: 3, Ranks: [3]float64{1, 1, 1}}}
	two := Scores{All: {Questions: 1, Budgets: [4]float64{1, 1, 1, 1}}}
	want := Scores{All: {
		Questions: 4, Ranks: [3]float64{0.75, 0.75, 0.75}, Budgets: [4]float64{0.25, 0.25, 0.25, 0.25},
	}}
	if diff := cmp.Diff(want, Merge([]Scores{one, two})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	parts := []Prompts{{Shares{All: 1}, Shares{}}, {Shares{All: 0.2}, Shares{All: 0.2}}}
	prompts := MergePrompts(parts, []Scores{one, two})
	if diff := cmp.Diff(Prompts{Shares{All: 0.8}, Shares{All: 0.2}}, prompts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
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
	if share, whole := c.sharesIn(blocks[:]); share != 0.75 || whole != 0.5 {
		t.Errorf("%v of the evidence is in the prompt, %v of it whole", share, whole)
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(Shares{"colour": 1, "drink": 0.5, All: 0.75}, bench().shares([]float64{1, 0.5})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := share([]string{"red", "kite"}, "red boats"); got != 0.5 {
		t.Errorf("share %v", got)
	}
}
