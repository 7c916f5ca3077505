package evidence

import (
	"cmp"
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
	// Prompts are the shares in the prompts of each place.
	Prompts map[Place]PromptShares
}

// PromptShares are the share of the evidence that is in a prompt, and the share whose messages are in it whole.
type PromptShares struct{ In, Whole float64 }

// Scores are the scores of each category, and of All.
type Scores map[string]*Score

// Score is what is found, as a mean over questions.
type Score struct {
	Questions int
	Shares    cutoff.Shares
	Prompts   map[Place]PromptShares
}

// Worst returns the place whose prompts have the least of the evidence, and what they have.
func (s *Score) Worst() (Place, PromptShares) {
	places := slices.SortedFunc(maps.Keys(s.Prompts), func(a, b Place) int {
		return cmp.Or(cmp.Compare(s.Prompts[a].In, s.Prompts[b].In), cmp.Compare(a.String(), b.String()))
	})
	if len(places) == 0 {
		return Place{}, PromptShares{}
	}
	return places[0], s.Prompts[places[0]]
}

// Mean returns the means over questions.
func Mean(found []Found) Scores {
	scores := Scores{}
	for _, f := range found {
		for _, name := range []string{f.Category, All} {
			if scores[name] == nil {
				scores[name] = &Score{Prompts: map[Place]PromptShares{}}
			}
			scores[name].add(f)
		}
	}
	for _, s := range scores {
		n := float64(s.Questions)
		for i := range s.Shares {
			s.Shares[i] /= n
		}
		for p, sum := range s.Prompts {
			s.Prompts[p] = PromptShares{sum.In / n, sum.Whole / n}
		}
	}
	return scores
}

// add adds what was found of one question.
func (s *Score) add(f Found) {
	s.Questions++
	for i, share := range f.Shares {
		s.Shares[i] += share
	}
	for p, shares := range f.Prompts {
		sum := s.Prompts[p]
		s.Prompts[p] = PromptShares{sum.In + shares.In, sum.Whole + shares.Whole}
	}
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
	// line is the message in a prompt of words.
	line string
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
