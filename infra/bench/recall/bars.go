package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/local/offlinemodel"
)

// floor is what has to be found of one data set, by weights that have not seen what is asked about. Shares may be meant
// in points above BM25.
type floor struct {
	// data is what the name of the data set begins with. class, if set, is the class of questions that is meant.
	data, class string
	// aboveBM25 says that ten and thousand are points above what BM25 finds, and not shares.
	aboveBM25     bool
	ten, thousand float64
	// prompt is the share that prompts need at their worst place, abovePrompt the points above BM25 within as many tokens.
	prompt, abovePrompt float64
}

// floors are those of docs/adr/0060 and docs/adr/0068.
var floors = []floor{
	{data: "locomo", ten: 0.79, thousand: 0.84, prompt: 0.9},
	{data: "realtalk", aboveBM25: true, ten: 0.06, thousand: 0.04},
	{data: "beam", aboveBM25: true, ten: 0.06, thousand: 0.06, prompt: 0.7},
	{data: "lifebench-en", aboveBM25: true, ten: 0.08, thousand: 0.08, prompt: 0.74, abovePrompt: 0.04},
	{data: "lifebench-zh", aboveBM25: true, ten: 0.04, thousand: 0.04, prompt: 0.66, abovePrompt: 0.04},
	{
		data: "realmem", class: "turn label", aboveBM25: true, ten: 0.04, thousand: 0.1, prompt: 0.56, abovePrompt: 0.06,
	},
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
		class := cmp.Or(floorOf(s.Name).class, evidence.All)
		byWords, byIndex := s.by(words).Scores[class], s.by(index).Scores[class]
		if score := unseen.Scores[class]; score != nil {
			for _, place := range []int{cutoff.R10, cutoff.B500, cutoff.B1000} {
				name := cutoff.Names[place] + " without the data set, above BM25 and the index"
				out = append(out, bar{s.Name, name, score.Shares[place], max(byWords.Shares[place], byIndex.Shares[place]), true})
			}
		}
		if others.Scores != nil {
			out = append(out, r.floorBars(s, others.Scores, s.by(words).Scores)...)
		}
	}
	return out
}

// floorOf returns the floor of a data set. One without a floor has an empty one: prompts have at least what BM25 has
// within as many tokens.
func floorOf(set string) floor {
	for _, f := range floors {
		if strings.HasPrefix(set, f.data) {
			return f
		}
	}
	return floor{}
}

func (r result) floorBars(s *setResult, found, byWords evidence.Scores) (out []bar) {
	f, more := floorOf(s.Name), 0.0
	class := cmp.Or(f.class, evidence.All)
	score, base := found[class], byWords[class]
	if score == nil || base == nil {
		return nil
	}
	if r.Model != offlinemodel.ModelID {
		more = byModel
	}
	of := " without the conversation"
	if f.class != "" {
		of = ", " + f.class + "," + of
	}
	for _, c := range []struct {
		place int
		floor float64
	}{{cutoff.R10, f.ten}, {cutoff.B1000, f.thousand}} {
		if c.floor == 0 {
			continue
		}
		name, floor := cutoff.Names[c.place]+of, c.floor+more
		if f.aboveBM25 {
			name += fmt.Sprintf(", BM25 and %.0f points", 100*floor)
			floor += base.Shares[c.place]
		}
		out = append(out, bar{s.Name, name, score.Shares[c.place], floor, false})
	}
	_, prompt := score.Worst()
	_, within := base.Worst()
	if f.prompt > 0 {
		out = append(out, bar{s.Name, "in the prompt" + of, prompt.In, f.prompt, false})
	}
	name := fmt.Sprintf("in the prompt%s, BM25 within 4,000 tokens and %.0f points", of, 100*f.abovePrompt)
	if f.abovePrompt == 0 {
		name = "in the prompt" + of + ", above BM25 within 4,000 tokens"
	}
	return append(out, bar{s.Name, name, prompt.In, within.In + f.abovePrompt, f.abovePrompt == 0})
}

// barSection is the table of the bars with what it says, empty without bars.
func (r result) barSection() string {
	bars := r.bars()
	if len(bars) == 0 {
		return ""
	}
	t := report.NewTable("", "data", "has to hold", "measured", "at least", "")
	for _, b := range bars {
		held, least := "held", report.Percent(b.least)
		if !b.held() {
			held = "NOT HELD"
		}
		if b.above {
			least = "above " + least
		}
		t.Add(b.data, b.name, report.Percent(b.value), least, held)
	}
	return "What has to hold:\n\n" + t.Markdown() + "\n"
}
