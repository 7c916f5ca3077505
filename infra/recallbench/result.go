package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/recallbench/evidence"
)

// result is what one run found.
type result struct {
	Date, Model, Command string
	// Every says that each n-th question was asked, Seconds what the import took until all was indexed.
	Every   int
	Seconds float64
	Sets    []*setResult
	Times   evidence.Times
}

// setResult is what was found of one data set.
type setResult struct {
	Name                               string
	Conversations, Messages, Questions int
	// Rankings are the baselines, recall by the weights that ship, and by weights that have not seen what is asked about.
	Rankings []ranking
	// Without are those of recall without each feature. There are none if that was not measured.
	Without   []ranking
	Summaries evidence.Coverage
}

// ranking is what one ranking found. Prompts is the evidence in prompts, empty if there are none.
type ranking struct {
	Name    string
	Scores  evidence.Scores
	Prompts evidence.Shares
}

func (s *setResult) count(set dataSet, questions int) {
	s.Name, s.Conversations, s.Questions = set.name, len(set.conversations), questions
	for _, c := range set.conversations {
		s.Messages += c.Messages()
	}
}

// addIndex adds the shares of the index's own score after BM25.
func (s *setResult) addIndex(shares map[string]float64) {
	score := &evidence.Score{Questions: s.Questions}
	for i, k := range evidence.Ranks {
		score.Ranks[i] = shares[fmt.Sprint("R@", k)]
	}
	for i, tokens := range evidence.Budgets {
		score.Budgets[i] = shares[fmt.Sprint("B", tokens)]
	}
	after := 1 + slices.IndexFunc(s.Rankings, func(r ranking) bool { return r.Name == "BM25" })
	index := ranking{Name: "the index's own score", Scores: evidence.Scores{evidence.All: score}}
	s.Rankings = slices.Insert(s.Rankings, after, index)
}

// merge returns what the parts found together, each of them about other questions.
func merge(name string, parts []ranking) ranking {
	scores, prompts := make([]evidence.Scores, len(parts)), make([]evidence.Shares, len(parts))
	for i, p := range parts {
		scores[i], prompts[i] = p.Scores, p.Prompts
	}
	return ranking{name, evidence.Merge(scores), evidence.MergeShares(prompts, scores)}
}

// last is the share at 10 of the last ranking, the one that knows least about what is asked.
func (s *setResult) last() float64 {
	return s.Rankings[len(s.Rankings)-1].Scores[evidence.All].Ranks[1]
}

// worstFirst orders the data sets.
func (r result) worstFirst() []*setResult {
	return slices.SortedStableFunc(slices.Values(r.Sets), func(a, b *setResult) int {
		return cmp.Compare(a.last(), b.last())
	})
}

// table has a row for each ranking of each data set.
func (r result) table() *report.Table {
	t := header("data", "questions", "ranking")
	t.Header = append(t.Header, "in the prompt")
	for _, s := range r.worstFirst() {
		for i, k := range s.Rankings {
			cells := []string{"", "", k.Name}
			if i == 0 {
				cells = []string{s.Name, fmt.Sprint(s.Questions), k.Name}
			}
			prompt := ""
			if share, has := k.Prompts[evidence.All]; has {
				prompt = percent(share)
			}
			t.Add(append(append(cells, shares(k.Scores[evidence.All])...), prompt)...)
		}
	}
	return t
}

// categories has a row for each class of the questions of each data set, by the last ranking.
func (r result) categories() *report.Table {
	t := header("data", "questions", "class")
	t.Header = append(t.Header, "in the prompt")
	for _, s := range r.worstFirst() {
		last := s.Rankings[len(s.Rankings)-1]
		for _, name := range last.Scores.Categories() {
			if score := last.Scores[name]; name != evidence.All {
				cells := append([]string{s.Name, fmt.Sprint(score.Questions), name}, shares(score)...)
				t.Add(append(cells, percent(last.Prompts[name]))...)
			}
		}
	}
	return t
}

func header(first ...string) *report.Table {
	t := &report.Table{Header: first}
	for _, k := range evidence.Ranks {
		t.Header = append(t.Header, fmt.Sprintf("R@%d", k))
	}
	for _, tokens := range evidence.Budgets {
		t.Header = append(t.Header, fmt.Sprintf("B%d", tokens))
	}
	return t
}

func shares(s *evidence.Score) (cells []string) {
	for _, share := range s.Ranks {
		cells = append(cells, percent(share))
	}
	for _, share := range s.Budgets {
		cells = append(cells, percent(share))
	}
	return cells
}

// features has what each feature adds to recall: the points that are lost without it.
func (r result) features() string {
	t := &report.Table{Header: []string{"data", "without", "R@10", "B1000"}}
	for _, s := range r.worstFirst() {
		shipped := s.Rankings[slices.IndexFunc(s.Rankings, func(r ranking) bool { return r.Name == "recall" })]
		all := shipped.Scores[evidence.All]
		for _, k := range s.Without {
			one := k.Scores[evidence.All]
			t.Add(s.Name, k.Name, points(one.Ranks[1]-all.Ranks[1]), points(one.Budgets[1]-all.Budgets[1]))
		}
	}
	if len(r.Sets[0].Without) == 0 {
		return ""
	}
	return "\nWhat is lost without a feature, in points, the other weights as they are:\n\n" + t.Markdown()
}

func points(share float64) string { return fmt.Sprintf("%+.1f", 100*share) }

func percent(share float64) string { return fmt.Sprintf("%.1f", 100*share) }

func (r result) asked() string {
	if r.Every == 1 {
		return "every question was asked"
	}
	return fmt.Sprintf("one question in %d was asked", r.Every)
}

// lines are the results beside the tables.
func (r result) lines() []string {
	var lines []string
	for _, s := range r.worstFirst() {
		lines = append(lines, fmt.Sprintf("%s: %d conversations, %d messages. The summaries of the sessions with the "+
			"evidence have %s%% of the words of the answers; the evidence has %s%%.", s.Name, s.Conversations, s.Messages,
			percent(s.Summaries.Summaries), percent(s.Summaries.Messages)))
	}
	t := r.Times
	return append(lines, fmt.Sprintf("All was imported and indexed in %.0f s; %s.", r.Seconds, r.asked()),
		fmt.Sprintf("A query takes %.0f ms (p50) and %.0f ms (p99); the embedding of the same query alone %.0f and %.0f ms; "+
			"the difference is %.0f and %.0f ms (%d queries, one after the other).", t.Recall50, t.Recall99, t.Embedding50,
			t.Embedding99, t.Difference50, t.Difference99, t.Queries))
}

// text renders the result for a terminal.
func (r result) text() string {
	return "embedding: " + r.Model + "\n" + r.table().Text() + r.categories().Text() +
		strings.Join(r.lines(), "\n") + "\n" + r.features()
}

// markdown renders the result as a section of a document.
func (r result) markdown() string {
	return fmt.Sprintf(`## Recall, embedded by %s

Measured on %s by %s, through the API: %s; DynamoDB Local, the local Pinecone. In %% of the evidence, the worst data set
first.

%s
- %s

R@k is the share of the evidence among the first k messages, B the share within a budget of tokens of four characters,
whole messages only. Recall's budgets are filled as recall fills the budget that a request names; the other rankings'
are filled best first. "In the prompt" is the share that stands in a %s prompt of 4,000 tokens, and for BM25 that of
such a budget. All are means over the questions. The weights that ship are fitted on all of these conversations; the
rows below leave out the data set or the conversation that is asked about. The index's own score is measured in memory
(%s).

The classes of the questions, by the last ranking of their data set:

%s%s`, r.Model, r.Date, "`"+r.Command+"`", report.ThisMachine(), r.table().Markdown(),
		strings.Join(r.lines(), "\n- "), "`unified`", "`infra/fitrecall`", r.categories().Markdown(), r.features())
}
