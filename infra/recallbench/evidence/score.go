package evidence

import (
	"cmp"
	"maps"
	"slices"

	"github.com/throughline/throughline/internal/recall/rank"
)

// The cutoffs of evidence recall: the first k messages, and the whole messages that fit a budget of tokens of four
// characters. The last budget is that of a prompt.
var (
	Ranks   = [...]int{5, 10, 25}
	Budgets = [...]int{500, 1000, 2000, promptTokens}
)

const charsPerToken = 4

// All is the name of all categories together.
const All = "all"

// Scores are the scores of each category, and of All.
type Scores map[string]*Score

// Score is the share of evidence within each cutoff, as a mean over questions.
type Score struct {
	Questions int                   `json:"questions"`
	Ranks     [len(Ranks)]float64   `json:"ranks"`
	Budgets   [len(Budgets)]float64 `json:"budgets"`
}

// ranked is one message of a ranking.
type ranked struct {
	MessageID string
	Content   string
	Score     float64
}

// A packing puts a ranking into the order in which budgets are filled.
type packing func(list []ranked) []ranked

// inOrder fills budgets best first.
func inOrder(list []ranked) []ranked { return list }

// byValue fills budgets by value for tokens, as recall does where it is asked for a number of tokens.
func byValue(list []ranked) []ranked {
	value := func(m ranked) float64 { return rank.Value(m.Score, len(m.Content)/charsPerToken) }
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(value(b), value(a)) })
	return list
}

// score scores a ranking for each case.
func (b *Bench) score(lists [][]ranked, pack packing) Scores {
	scores := Scores{}
	for i, c := range b.Cases {
		one := scoreOf(c.Evidence, lists[i], pack(lists[i]))
		for _, name := range []string{c.Question.Category, All} {
			if scores[name] == nil {
				scores[name] = &Score{}
			}
			scores[name].add(one)
		}
	}
	for _, s := range scores {
		s.divide(float64(s.Questions))
	}
	return scores
}

// scoreOf scores a ranking for one question, and the order in which budgets are filled.
func scoreOf(evidence map[string]bool, list, packed []ranked) Score {
	s := Score{Questions: 1}
	share := 1 / float64(len(evidence))
	for i, m := range list {
		for c, k := range Ranks {
			if i < k && evidence[m.MessageID] {
				s.Ranks[c] += share
			}
		}
	}
	var used [len(Budgets)]int
	for _, m := range packed {
		for c, tokens := range Budgets {
			if used[c]+len(m.Content) > charsPerToken*tokens {
				continue
			}
			used[c] += len(m.Content)
			if evidence[m.MessageID] {
				s.Budgets[c] += share
			}
		}
	}
	return s
}

// InPrompt returns the shares within the budget of a prompt, filled with whole messages.
func (s Scores) InPrompt() Prompts {
	out := Shares{}
	for name, score := range s {
		out[name] = score.Budgets[len(score.Budgets)-1]
	}
	return Prompts{out, out}
}

func (s *Score) add(other Score) {
	s.Questions += other.Questions
	for i := range s.Ranks {
		s.Ranks[i] += other.Ranks[i]
	}
	for i := range s.Budgets {
		s.Budgets[i] += other.Budgets[i]
	}
}

func (s *Score) divide(n float64) {
	for i := range s.Ranks {
		s.Ranks[i] /= n
	}
	for i := range s.Budgets {
		s.Budgets[i] /= n
	}
}

// Merge returns the scores over the questions of several scores.
func Merge(all []Scores) Scores {
	out := Scores{}
	for _, scores := range all {
		for name, s := range scores {
			if out[name] == nil {
				out[name] = &Score{}
			}
			sum := *s
			sum.divide(1 / float64(s.Questions))
			out[name].add(sum)
		}
	}
	for _, s := range out {
		s.divide(float64(s.Questions))
	}
	return out
}

// Categories returns the categories by name, and All last.
func (s Scores) Categories() []string {
	names := slices.Sorted(maps.Keys(s))
	return append(slices.DeleteFunc(names, func(name string) bool { return name == All }), All)
}

// Shares are mean shares from 0 to 1 by category, and for All.
type Shares map[string]float64

func (b *Bench) shares(values []float64) Shares {
	sums, counts := Shares{}, map[string]float64{}
	for i, c := range b.Cases {
		for _, name := range []string{c.Question.Category, All} {
			sums[name] += values[i]
			counts[name]++
		}
	}
	for name := range sums {
		sums[name] /= counts[name]
	}
	return sums
}

// MergePrompts returns the shares over the questions of several, of which each has its scores.
func MergePrompts(all []Prompts, of []Scores) Prompts {
	parts, whole := make([]Shares, len(all)), make([]Shares, len(all))
	for i, p := range all {
		parts[i], whole[i] = p.Any, p.Whole
	}
	return Prompts{mergeShares(parts, of), mergeShares(whole, of)}
}

func mergeShares(all []Shares, of []Scores) Shares {
	out, counts := Shares{}, map[string]float64{}
	for i, shares := range all {
		for name, share := range shares {
			n := float64(of[i][name].Questions)
			out[name] += share * n
			counts[name] += n
		}
	}
	for name := range out {
		out[name] /= counts[name]
	}
	return out
}
