package main

import (
	"cmp"
	"slices"
)

// cutoffs are the k of R@k.
var cutoffs = [...]int{5, 10, 25}

// recall sums, over questions, the share of evidence found within each cutoff.
type recall struct {
	questions int
	found     [len(cutoffs)]float64
}

func (r *recall) add(other recall) {
	r.questions += other.questions
	for i, f := range other.found {
		r.found[i] += f
	}
}

func (r *recall) percent(i int) float64 { return 100 * r.found[i] / float64(max(r.questions, 1)) }

// scoreSample ranks a conversation's turns for each of its questions that have an answer.
func scoreSample(s sample, embed func(string) []float32, speakers bool) recall {
	vectors := make([][]float32, len(s.turns))
	for i, t := range s.turns {
		text := t.text
		if speakers {
			text = t.speaker + ": " + text
		}
		vectors[i] = embed(text)
	}
	var total recall
	for _, q := range s.questions {
		total.add(scoreQuestion(s, q, rank(embed(q.text), vectors)))
	}
	return total
}

func scoreQuestion(s sample, q question, order []int) recall {
	r := recall{questions: 1}
	for position, turn := range order {
		if !q.evidence[s.turns[turn].id] {
			continue
		}
		for i, k := range cutoffs {
			if position < k {
				r.found[i] += 1 / float64(len(q.evidence))
			}
		}
	}
	return r
}

// rank returns the indexes of the vectors, nearest to the query first; equal ones keep their order.
func rank(query []float32, vectors [][]float32) []int {
	scores := make([]float32, len(vectors))
	order := make([]int, len(vectors))
	for i, v := range vectors {
		order[i] = i
		for j, x := range query {
			scores[i] += x * v[j]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order
}
