package evidence

import (
	"maps"
	"slices"

	"github.com/throughline/throughline/infra/bench/recall/cutoff"
)

// All is the name of all categories together.
const All = "all"

// Found is what a ranking finds of the evidence of one question.
type Found struct {
	Category string
	Shares   cutoff.Shares
	// InPrompt is the share that is in a prompt, Whole the share whose messages are in it whole.
	InPrompt, Whole float64
}

// Scores are the scores of each category, and of All.
type Scores map[string]*Score

// Score is what is found, as a mean over questions.
type Score struct {
	Questions       int
	Shares          cutoff.Shares
	InPrompt, Whole float64
}

// Mean returns the means over questions.
func Mean(found []Found) Scores {
	scores := Scores{}
	for _, f := range found {
		for _, name := range []string{f.Category, All} {
			if scores[name] == nil {
				scores[name] = &Score{}
			}
			s := scores[name]
			s.Questions++
			for i, share := range f.Shares {
				s.Shares[i] += share
			}
			s.InPrompt, s.Whole = s.InPrompt+f.InPrompt, s.Whole+f.Whole
		}
	}
	for _, s := range scores {
		n := float64(s.Questions)
		for i := range s.Shares {
			s.Shares[i] /= n
		}
		s.InPrompt, s.Whole = s.InPrompt/n, s.Whole/n
	}
	return scores
}

// Categories returns the categories by name, and All last.
func (s Scores) Categories() []string {
	names := slices.Sorted(maps.Keys(s))
	return append(slices.DeleteFunc(names, func(name string) bool { return name == All }), All)
}

// ranked is one message of a ranking.
type ranked struct {
	MessageID string
	Content   string
	Score     float64
}

// score scores a ranking for each case, and the order in which its budgets are filled.
func (b *Bench) score(rankings [][]ranked, pack func([]cutoff.Message) []cutoff.Message) []Found {
	out := make([]Found, len(b.Cases))
	for i, c := range b.Cases {
		list := make([]cutoff.Message, len(rankings[i]))
		for n, m := range rankings[i] {
			list[n] = cutoff.Message{Chars: len(m.Content), Relevant: c.Evidence[m.MessageID], Score: m.Score}
		}
		out[i] = Found{Category: c.Question.Category, Shares: cutoff.Of(list, pack(list), len(c.Evidence))}
	}
	return out
}
