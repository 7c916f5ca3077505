package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/bench/report"
)

type result struct {
	Date, Model, Command string
	// Seconds is what the import took until all was indexed.
	Seconds float64
	Sets    []*setResult
}

type setResult struct {
	Name                               string
	Conversations, Messages, Questions int
	// Rankings are the baselines, recall by the weights that ship, and by weights that have not seen what is asked about.
	Rankings []ranking
}

// ranking is what one ranking found. Of some there are no prompts.
type ranking struct {
	Name   string
	Scores evidence.Scores
}

// The names of the rankings.
const (
	words       = "BM25"
	index       = "the index's own score"
	shipped     = "recall"
	onOtherSets = "recall, fitted on the other data sets"
	onOthers    = "recall, fitted on other conversations"
)

// addIndex adds the shares of the index's own score, by the class of questions, after BM25.
func (s *setResult) addIndex(classes map[string]cutoff.Shares) {
	byIndex := ranking{Name: index, Scores: evidence.Scores{}}
	for class, shares := range classes {
		byIndex.Scores[class] = &evidence.Score{Shares: shares}
	}
	s.Rankings = slices.Insert(s.Rankings, 1, byIndex)
}

// by returns the ranking of a name, or an empty one.
func (s *setResult) by(name string) ranking {
	if i := slices.IndexFunc(s.Rankings, func(r ranking) bool { return r.Name == name }); i >= 0 {
		return s.Rankings[i]
	}
	return ranking{}
}

// last is the last ranking, the one that knows least about what is asked.
func (s *setResult) last() ranking { return s.Rankings[len(s.Rankings)-1] }

// worstFirst orders the data sets by what their last rankings find.
func (r result) worstFirst() []*setResult {
	found := func(s *setResult) float64 { return s.last().Scores[evidence.All].Shares[cutoff.R10] }
	return slices.SortedStableFunc(slices.Values(r.Sets), func(a, b *setResult) int {
		return cmp.Compare(found(a), found(b))
	})
}

// table has a row for each ranking of each data set.
func (r result) table() *report.Table {
	t := report.NewTable("", slices.Concat([]string{"data", "questions", "ranking"}, cutoff.Names[:],
		[]string{"in the prompt", "whole"})...)
	for _, s := range r.worstFirst() {
		for i, k := range s.Rankings {
			cells := []any{"", "", k.Name}
			if i == 0 {
				cells = []any{s.Name, s.Questions, k.Name}
			}
			score := k.Scores[evidence.All]
			for _, share := range score.Shares {
				cells = append(cells, report.Percent(share))
			}
			if len(score.Prompts) > 0 {
				_, worst := score.Worst()
				cells = append(cells, report.Percent(worst.In), report.Percent(worst.Whole))
			}
			t.Add(cells...)
		}
	}
	return t
}

// classes has a row for each class of the questions of each data set, by the last ranking, beside BM25 and the index.
func (r result) classes() *report.Table {
	t := report.NewTable("", "data", "questions", "class", "R@10", words, "index", "B1000", words, "index",
		"in the prompt", words)
	for _, s := range r.worstFirst() {
		last, byWords, byIndex := s.last(), s.by(words), s.by(index)
		for _, name := range last.Scores.Categories() {
			if name == evidence.All {
				continue
			}
			score := last.Scores[name]
			cells := []any{s.Name, score.Questions, name}
			for _, place := range []int{cutoff.R10, cutoff.B1000} {
				for _, k := range []ranking{last, byWords, byIndex} {
					cells = append(cells, cellOf(k.Scores[name], place))
				}
			}
			_, worst := score.Worst()
			_, within := byWords.Scores[name].Worst()
			t.Add(append(cells, report.Percent(worst.In), report.Percent(within.In))...)
		}
	}
	return t
}

// places has a row for each place where prompts are asked for, by the last ranking, with all data sets.
func (r result) places() *report.Table {
	sets := r.worstFirst()
	headings, rows := []string{"asked in"}, map[evidence.Place]bool{}
	for _, s := range sets {
		headings = append(headings, s.Name)
		for p := range s.last().Scores[evidence.All].Prompts {
			rows[p] = true
		}
	}
	t := report.NewTable("", headings...)
	for _, p := range slices.SortedFunc(maps.Keys(rows), func(a, b evidence.Place) int {
		return cmp.Compare(a.String(), b.String())
	}) {
		cells := []any{p}
		for _, s := range sets {
			cells = append(cells, report.Percent(s.last().Scores[evidence.All].Prompts[p].In))
		}
		t.Add(cells...)
	}
	return t
}

// cellOf is the share within a cutoff, empty where it was not measured.
func cellOf(s *evidence.Score, place int) string {
	if s == nil {
		return ""
	}
	return report.Percent(s.Shares[place])
}

// lines are the results beside the tables.
func (r result) lines() (lines []string) {
	for _, s := range r.worstFirst() {
		lines = append(lines, fmt.Sprintf("%s: %d conversations, %d messages.", s.Name, s.Conversations, s.Messages))
	}
	return append(lines, fmt.Sprintf("All was imported and indexed in %.0f s.", r.Seconds))
}

// markdown renders the result as a section of a document.
func (r result) markdown() string {
	return fmt.Sprintf(`## Recall, embedded by %s

Measured on %s by %s, through the API: %s; DynamoDB Local, the local Pinecone. In %% of the evidence, the worst data set
first.

%s
R@k is the share of the evidence among the first k messages, B the share within a budget of tokens of four characters,
whole messages only. Recall's budgets are filled as recall fills the budget that a request names; the other rankings'
are filled best first. "In the prompt" is the share that is in a %s prompt of 4,000 tokens, of long messages
by a part, at the place where it is least; "whole" counts whole messages only. For BM25 it is the share within 4,000
tokens of messages, where a prompt has its rules and other blocks, too. All are means over the questions. The weights
that ship may have seen these conversations (weights.json names them); the rows below leave out the kind of data or the
person that is asked about. The index's own score is
measured in memory (%s), over all questions.

- %s

%sThe share in the prompt by where it is asked for, of all questions, by the last ranking of each data set:

%s
The classes of the questions, recall by the last ranking of their data set:

%s`, r.Model, r.Date, "`"+r.Command+"`", report.ThisMachine(), r.table().Markdown(), "`unified`", "`infra/bench/fit`",
		strings.Join(r.lines(), "\n- "), r.barSection(), r.places().Markdown(), r.classes().Markdown())
}
