package main

import (
	"fmt"
	"strings"

	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/local/offlinemodel"
)

// floor is what recall has to find of one data set, by weights that have not seen the conversation that is asked about.
type floor struct {
	// data is what the name of the data set begins with.
	data string
	// aboveBM25 says that ten and thousand are points above what BM25 finds, and not shares.
	aboveBM25     bool
	ten, thousand float64
	// prompt is the share that prompts have to have, 0 for more than BM25 within the same budget.
	prompt float64
}

// floors are those of docs/adr/0060.
var floors = []floor{
	{data: "locomo", ten: 0.79, thousand: 0.84, prompt: 0.9},
	{data: "realtalk", aboveBM25: true, ten: 0.06, thousand: 0.04},
	{data: "beam", aboveBM25: true, ten: 0.06, thousand: 0.06},
}

// byModel is how much more than the floors recall has to find with an embedding model that is not the offline one.
const byModel = 0.02

// bar is a share that has to be at least as high as another one, or above it.
type bar struct {
	data, name   string
	value, least float64
	above        bool
}

func (b bar) held() bool { return b.value > b.least || b.value == b.least && !b.above }

func (r result) bars() (out []bar) {
	for _, s := range r.worstFirst() {
		unseen, others := s.by(onOtherSets), s.by(onOthers)
		byWords, byIndex := s.by(words).Scores[evidence.All], s.by(index).Scores[evidence.All]
		if score := unseen.Scores[evidence.All]; score != nil {
			for _, place := range []int{cutoff.R10, cutoff.B500, cutoff.B1000} {
				name := cutoff.Names[place] + " without the data set, above BM25 and the index"
				out = append(out, bar{s.Name, name, score.Shares[place], max(byWords.Shares[place], byIndex.Shares[place]), true})
			}
		}
		if score := others.Scores[evidence.All]; score != nil {
			out = append(out, r.floorBars(s, score, byWords)...)
		}
	}
	return out
}

func (r result) floorBars(s *setResult, score, byWords *evidence.Score) (out []bar) {
	more := 0.0
	if r.Model != offlinemodel.ModelID {
		more = byModel
	}
	least, above, name := byWords.InPrompt, true, ", above BM25 within 4,000 tokens"
	for _, f := range floors {
		if !strings.HasPrefix(s.Name, f.data) {
			continue
		}
		for _, c := range []struct {
			place int
			floor float64
		}{{cutoff.R10, f.ten + more}, {cutoff.B1000, f.thousand + more}} {
			name, floor := cutoff.Names[c.place]+" without the conversation", c.floor
			if f.aboveBM25 {
				name += fmt.Sprintf(", BM25 and %.0f points", 100*floor)
				floor += byWords.Shares[c.place]
			}
			out = append(out, bar{s.Name, name, score.Shares[c.place], floor, false})
		}
		if f.prompt > 0 {
			least, above, name = f.prompt, false, ""
		}
	}
	return append(out, bar{s.Name, "in the prompt without the conversation" + name, score.InPrompt, least, above})
}

func (r result) barTable() *report.Table {
	t := report.NewTable("", "data", "has to hold", "measured", "at least", "")
	for _, b := range r.bars() {
		held, least := "held", report.Percent(b.least)
		if !b.held() {
			held = "NOT HELD"
		}
		if b.above {
			least = "above " + least
		}
		t.Add(b.data, b.name, report.Percent(b.value), least, held)
	}
	return t
}

// barSection is the table with what it says, empty without bars.
func (r result) barSection() string {
	if len(r.bars()) == 0 {
		return ""
	}
	return "What has to hold:\n\n" + r.barTable().Markdown() + "\n"
}
