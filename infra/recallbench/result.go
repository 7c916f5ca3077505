package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/dataset"
	"github.com/throughline/throughline/infra/recallbench/evidence"
)

// result is what one run found.
type result struct {
	Date, Model, Command               string
	Conversations, Messages, Questions int
	// Every says that each n-th question was asked, Seconds what the import took until all was indexed.
	Every                int
	Seconds              float64
	Newest, BM25, Recall evidence.Scores
	Prompts              evidence.Shares
	// HeldOut and HeldOutPrompts are those of recall and prompts whose weights were fitted on the other conversations,
	// Without are the scores of recall without a feature. They are empty if that was not measured.
	HeldOut        evidence.Scores
	HeldOutPrompts evidence.Shares
	Without        map[string]*evidence.Score
	Summaries      evidence.Coverage
	Times          evidence.Times
}

func (r *result) count(conversations []dataset.Conversation) {
	r.Conversations = len(conversations)
	for _, c := range conversations {
		r.Messages += c.Messages()
	}
}

// table has a row for each ranking, and one for each category of recall.
func (r result) table() *report.Table {
	t := &report.Table{Header: []string{"% of the evidence", "questions"}}
	for _, k := range evidence.Ranks {
		t.Header = append(t.Header, fmt.Sprintf("R@%d", k))
	}
	for _, tokens := range evidence.Budgets {
		t.Header = append(t.Header, fmt.Sprintf("B%d", tokens))
	}
	t.Header = append(t.Header, "in the prompt")
	add := func(name string, s *evidence.Score, prompt string) {
		cells := []string{name, fmt.Sprint(s.Questions)}
		for _, share := range s.Ranks {
			cells = append(cells, percent(share))
		}
		for _, share := range s.Budgets {
			cells = append(cells, percent(share))
		}
		t.Add(append(cells, prompt)...)
	}
	add("newest first", r.Newest[evidence.All], "")
	add("BM25", r.BM25[evidence.All], "")
	addAll := func(label string, scores evidence.Scores, prompts evidence.Shares) {
		for _, name := range scores.Categories() {
			full := label + ", " + name
			if name == evidence.All {
				full = label
			}
			add(full, scores[name], percent(prompts[name]))
		}
	}
	addAll("recall", r.Recall, r.Prompts)
	if len(r.HeldOut) > 0 {
		addAll("recall, fitted on the others", r.HeldOut, r.HeldOutPrompts)
	}
	return t
}

// features has what each feature adds to recall: the points that are lost without it.
func (r result) features() string {
	if len(r.Without) == 0 {
		return ""
	}
	t := &report.Table{Header: []string{"without", "R@10", "B1000"}}
	all := r.Recall[evidence.All]
	for _, name := range slices.Sorted(maps.Keys(r.Without)) {
		s := r.Without[name]
		t.Add(name, points(s.Ranks[1]-all.Ranks[1]), points(s.Budgets[1]-all.Budgets[1]))
	}
	return "\nWhat is lost without a feature, in points, the other weights as they are:\n\n" + t.Markdown()
}

func points(share float64) string { return fmt.Sprintf("%+.1f", 100*share) }

func percent(share float64) string { return fmt.Sprintf("%.1f", 100*share) }

func (r result) asked() string {
	if r.Every == 1 {
		return "every question"
	}
	return fmt.Sprintf("one question in %d", r.Every)
}

// lines are the results beside the table.
func (r result) lines() []string {
	t := r.Times
	return []string{
		fmt.Sprintf("%d conversations, %d messages, imported and indexed in %.0f s; %s, %d in all.",
			r.Conversations, r.Messages, r.Seconds, r.asked(), r.Questions),
		fmt.Sprintf("The summaries of the sessions with the evidence have %s%% of the words of the answers; "+
			"the evidence has %s%%.", percent(r.Summaries.Summaries), percent(r.Summaries.Messages)),
		fmt.Sprintf("A query takes %.0f ms (p50) and %.0f ms (p99); the embedding of the same query alone %.0f and %.0f ms; "+
			"the difference is %.0f and %.0f ms (%d queries, one after the other).", t.Recall50, t.Recall99, t.Embedding50,
			t.Embedding99, t.Difference50, t.Difference99, t.Queries),
	}
}

// text renders the result for a terminal.
func (r result) text() string {
	return "embedding: " + r.Model + "\n" + r.table().Text() + strings.Join(r.lines(), "\n") + "\n" + r.features()
}

// markdown renders the result as a section of a document.
func (r result) markdown() string {
	return fmt.Sprintf(`## Recall, embedded by %s

Measured on %s by %s: %s; DynamoDB Local, the local Pinecone.

%s
- %s

R@k is the share of the evidence among the first k messages of recall, B the share within a budget of tokens of four
characters, best first; "in the prompt" is the share that stands in a %s prompt of 4,000 tokens. All are means over the
questions. "Newest first" and "BM25" order the same messages. The weights that ship are fitted on these conversations;
"fitted on the others" leaves out the one that is asked about.
%s`, r.Model, r.Date, "`"+r.Command+"`", report.ThisMachine(), r.table().Markdown(),
		strings.Join(r.lines(), "\n- "), "`unified`", r.features())
}
