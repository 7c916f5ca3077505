package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/recall/rank"
)

// The cutoffs of evidence recall: the first k messages, and the messages that fit, best first, a budget of tokens of
// four characters.
var (
	ranks   = [...]int{5, 10, 25}
	budgets = [...]int{500, 1000, 2000, 4000}
)

const (
	// limit is how many messages a recall returns at most.
	limit = 100
	// charsPerToken is how many characters a token is taken to have.
	charsPerToken = 4
	// at10, at500 and at1000 are the places of R@10, B500 and B1000 among the shares of a question.
	at10, at500, at1000 = 1, len(ranks), len(ranks) + 1
)

// ranked is one message of a ranking.
type ranked struct {
	chars    int
	relevant bool
}

// shares are the shares of one question's evidence within each cutoff, or means of them.
type shares [len(ranks) + len(budgets)]float64

// sharesOf scores a ranking, and another order of the same messages in which budgets are filled. Only whole messages
// count.
func sharesOf(ranking, packing []ranked, evidence int) (s shares) {
	for place, m := range ranking[:min(limit, len(ranking))] {
		for k, most := range ranks {
			if place < most && m.relevant {
				s[k] += 1 / float64(evidence)
			}
		}
	}
	var used [len(budgets)]int
	for _, m := range packing[:min(limit, len(packing))] {
		for b, tokens := range budgets {
			if used[b]+m.chars > charsPerToken*tokens {
				continue
			}
			used[b] += m.chars
			if m.relevant {
				s[len(ranks)+b] += 1 / float64(evidence)
			}
		}
	}
	return s
}

// ranking returns the shares of evidence that a ranking finds in a pool.
type ranking func(p pool) shares

// sorted orders the records of a pool by their values, highest first.
func (p pool) sorted(values []float64) []ranked {
	order := make([]int, p.size())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	out := make([]ranked, len(order))
	for n, i := range order {
		out[n] = ranked{p.chars[i], p.relevant[i]}
	}
	return out
}

// scorer returns a score of each record of a pool.
type scorer func(p pool) []float64

// by ranks by a score.
func by(scores scorer) ranking {
	return func(p pool) shares {
		list := p.sorted(scores(p))
		return sharesOf(list, list, p.evidence)
	}
}

// byValue ranks by a probability, and fills budgets by value for tokens, as recall does where tokens are asked for.
func byValue(probabilities scorer) ranking {
	return func(p pool) shares {
		values := probabilities(p)
		list := p.sorted(values)
		for i, probability := range values {
			values[i] = rank.Value(probability, p.chars[i]/charsPerToken)
		}
		return sharesOf(list, p.sorted(values), p.evidence)
	}
}

// byIndex ranks by the index's own score, byWords by BM25.
var byIndex = by(func(p pool) []float64 { return p.index })

func byWords(p pool) shares { return sharesOf(p.words, p.words, p.evidence) }

// mean returns the mean shares of pools.
func mean(pools []pool, r ranking) (sum shares) {
	for _, p := range pools {
		for i, share := range r(p) {
			sum[i] += share / float64(len(pools))
		}
	}
	return sum
}

func (s shares) String() string {
	var out strings.Builder
	for _, share := range s {
		fmt.Fprintf(&out, " %6.1f", 100*share)
	}
	return out.String()
}

// named returns the shares by the names of their cutoffs.
func (s shares) named() map[string]float64 {
	out := map[string]float64{}
	for k, most := range ranks {
		out[fmt.Sprint("R@", most)] = s[k]
	}
	for b, tokens := range budgets {
		out[fmt.Sprint("B", tokens)] = s[len(ranks)+b]
	}
	return out
}

// row is a ranking with the name that tables have for it.
type row struct {
	name string
	ranking
}

// report prints a table with a row for each ranking in each group.
func report(out io.Writer, pools []pool, group func(p pool) string, rows ...row) {
	fmt.Fprintf(out, "\n%-42s %-34s %4s", "", "ranking", "n")
	for _, k := range ranks {
		fmt.Fprintf(out, " %6s", fmt.Sprint("R@", k))
	}
	for _, tokens := range budgets {
		fmt.Fprintf(out, " %6s", fmt.Sprint("B", tokens))
	}
	fmt.Fprintln(out)
	names, groups := grouped(pools, group)
	for _, name := range names {
		for _, r := range rows {
			fmt.Fprintf(out, "%-42s %-34s %4d%s\n", name, r.name, len(groups[name]), mean(groups[name], r.ranking))
		}
	}
}

func one(set bool) float64 {
	if set {
		return 1
	}
	return 0
}
