package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/throughline/throughline/infra/bench/recall/cutoff"
)

// limit is how many messages a recall returns at most.
const limit = 100

// sharesOf scores what a recall would return of a ranking, and of the order in which it fills budgets.
func sharesOf(ranking, packing []cutoff.Message, evidence int) cutoff.Shares {
	return cutoff.Of(ranking[:min(limit, len(ranking))], packing[:min(limit, len(packing))], evidence)
}

// ranking returns the shares of evidence that a ranking finds in a pool.
type ranking func(p pool) cutoff.Shares

// sorted orders the records of a pool by their values, highest first.
func (p pool) sorted(values []float64) []cutoff.Message {
	out := make([]cutoff.Message, p.size())
	for i, value := range values {
		out[i] = cutoff.Message{Chars: p.chars[i], Relevant: p.relevant[i], Score: value}
	}
	slices.SortStableFunc(out, func(a, b cutoff.Message) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// scorer returns a score of each record of a pool.
type scorer func(p pool) []float64

// by ranks by a score.
func by(scores scorer) ranking {
	return func(p pool) cutoff.Shares {
		list := p.sorted(scores(p))
		return sharesOf(list, list, p.evidence)
	}
}

// byValue ranks by a probability, and fills budgets by value for tokens, as recall does where tokens are asked for.
func byValue(probabilities scorer) ranking {
	return func(p pool) cutoff.Shares {
		list := p.sorted(probabilities(p))
		return sharesOf(list, cutoff.ByValue(list), p.evidence)
	}
}

// byIndex ranks by the index's own score, byWords by BM25.
var byIndex = by(func(p pool) []float64 { return p.index })

func byWords(p pool) cutoff.Shares { return sharesOf(p.words, p.words, p.evidence) }

// mean returns the mean shares of pools.
func mean(pools []pool, r ranking) (sum cutoff.Shares) {
	for _, p := range pools {
		for i, share := range r(p) {
			sum[i] += share / float64(len(pools))
		}
	}
	return sum
}

// row is a ranking with the name that tables have for it.
type row struct {
	name string
	ranking
}

// report prints a table with a row for each ranking in each group.
func report(out io.Writer, pools []pool, group func(p pool) string, rows ...row) {
	fmt.Fprintf(out, "\n%-42s %-34s %4s", "", "ranking", "n")
	for _, name := range cutoff.Names {
		fmt.Fprintf(out, " %6s", name)
	}
	fmt.Fprintln(out)
	names, groups := grouped(pools, group)
	for _, name := range names {
		for _, r := range rows {
			fmt.Fprintf(out, "%-42s %-34s %4d", name, r.name, len(groups[name]))
			for _, share := range mean(groups[name], r.ranking) {
				fmt.Fprintf(out, " %6.1f", 100*share)
			}
			fmt.Fprintln(out)
		}
	}
}

func one(set bool) float64 {
	if set {
		return 1
	}
	return 0
}
