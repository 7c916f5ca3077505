package main

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/testing/check"
)

// found returns a ranking that finds the same share everywhere.
func found(name string, share, prompt float64) ranking {
	score := &evidence.Score{Questions: 4, Shares: everywhere(share)}
	if prompt > 0 {
		score.Prompts = map[evidence.Place]evidence.PromptShares{
			{Context: "kitchen"}: {In: prompt, Whole: prompt / 2}, {Context: "office", Chat: true}: {In: 1, Whole: 1},
		}
	}
	return ranking{name, evidence.Scores{evidence.All: score, "food": score}}
}

func everywhere(share float64) (shares cutoff.Shares) {
	for i := range shares {
		shares[i] = share
	}
	return shares
}

// measured returns a data set of which BM25 finds a half, and the index what is given.
func measured(name string, index, unseen, others, prompt float64) *setResult {
	s := &setResult{Name: name, Questions: 4, Rankings: []ranking{
		found(words, 0.5, 0.5), found(shipped, 0.95, prompt),
	}}
	s.addIndex(map[string]cutoff.Shares{evidence.All: everywhere(index), "food": everywhere(index)})
	s.Rankings = append(s.Rankings, found(onOtherSets, unseen, prompt), found(onOthers, others, prompt))
	return s
}

// TestBars checks what has to hold, of a data set with a floor in shares, of one with a floor above BM25, and of one
// without.
func TestBars(t *testing.T) {
	t.Parallel()
	missed := func(model string, s *setResult) (names []string) {
		for _, b := range (result{Model: model, Sets: []*setResult{s}}).bars() {
			if !b.held() {
				names = append(names, strings.ReplaceAll(b.name, " without the", ":"))
			}
		}
		return names
	}
	const offline, above = offlinemodel.ModelID, ": data set, above BM25 and the index"
	prompts := []string{"in the prompt: conversation"}
	filled := []string{"in the prompt: conversation, above BM25 within 4,000 tokens"}
	unseen := []string{"R@10" + above, "B500" + above, "B1000" + above}
	six := []string{"R@10: conversation, BM25 and 6 points"}
	eight := []string{"R@10: conversation, BM25 and 8 points", "B1000: conversation, BM25 and 8 points"}
	for name, tt := range map[string]struct {
		model string
		set   *setResult
		want  []string
	}{
		"all held":          {offline, measured("locomo-dev", 0.6, 0.7, 0.85, 0.9), nil},
		"equal to BM25":     {offline, measured("x", 0.4, 0.5, 0.5, 0.6), unseen},
		"below the index":   {offline, measured("x", 0.7, 0.6, 0.7, 0.6), unseen},
		"floor in shares":   {offline, measured("locomo-dev", 0.6, 0.7, 0.8, 0.9), []string{"B1000: conversation"}},
		"floor of prompts":  {offline, measured("locomo-dev", 0.6, 0.7, 0.9, 0.8), prompts},
		"floor above BM25":  {offline, measured("realtalk-dev", 0.5, 0.7, 0.55, 0.6), six},
		"above BM25, model": {"small", measured("beam-dev", 0.5, 0.7, 0.57, 0.7), eight},
		"prompts of others": {offline, measured("x", 0.6, 0.7, 0.9, 0.5), filled},
	} {
		check.Same(t, tt.want, missed(tt.model, tt.set), "%s", name)
	}
}

// TestSection renders two data sets, the worse one first, with the index beside BM25.
func TestSection(t *testing.T) {
	t.Parallel()
	r := result{
		Model: offlinemodel.ModelID,
		Sets:  []*setResult{measured("locomo-dev", 0.6, 0.7, 0.85, 0.8), measured("beam-dev", 0.4, 0.55, 0.6, 0.7)},
	}
	text := r.markdown()
	text = strings.Join(strings.Fields(text), " ") // however wide the columns are
	for _, row := range []string{
		"| beam-dev | 4 | BM25 |", "| the index's own score | 40.0 | 40.0 | 40.0 |",
		"| beam-dev | R@10 without the data set, above BM25 and the index | 55.0 | above 50.0 | held |",
		"| locomo-dev | in the prompt without the conversation | 80.0 | 90.0 | NOT HELD |",
		"| beam-dev | 4 | food | 60.0 | 50.0 | 40.0 | 60.0 | 50.0 | 40.0 | 70.0 | 50.0 |",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("no %q in\n%s", row, text)
		}
	}
	if strings.Index(text, "| beam-dev") > strings.Index(text, "| locomo-dev") {
		t.Error("the worse data set is not first")
	}
	r.Sets = []*setResult{{Name: "x", Rankings: []ranking{found(words, 0.5, 0.5)}}}
	check.Lacks(t, r.markdown(), "has to hold", "bars of a run without weights that leave something out")
}
