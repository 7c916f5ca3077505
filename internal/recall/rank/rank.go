// Package rank orders the matches of the vector index by how likely each is to hold what a query asks for.
//
// The index knows one likeness of each text with the query. Features (features.go) adds what the whole pool of matches
// shows: which of the query's words are rare there, what was said directly before and after, who said it, and when.
// Weights (weights.go) says how much each feature counts. They are fitted by infra/fitrecall and stored as JSON.
// A score is the logarithm of odds, the sum of the features' contributions; it becomes a probability.
//
// The package is pure: it reads no clock and makes no call, and the order of the pool does not change a score.
package rank

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Candidate is a match of the index: a message, a part of one, or the note of a check-in.
type Candidate struct {
	// ID is the id of the record. Parts of one message have the same.
	ID string
	// Context, Session and Seq say where a message stands. A check-in has no session.
	Context, Session string
	Seq              int
	// Role is who wrote it: "user", "assistant" or "system".
	Role string
	// Time is when it was written, Text what was written.
	Time time.Time
	Text string
	// Score is the likeness that the index returned: the mean of the dense and the sparse one.
	Score float64
}

// Query is what is asked.
type Query struct {
	Text string
	// Now is the time of asking.
	Now time.Time
}

// Result is the score of one record.
type Result struct {
	ID string
	// Probability is how likely the record holds what the query asks for, by the data that the weights were fitted on.
	Probability float64
	// Contributions are the parts of the score, by feature, in the order of Names. The last one is the intercept. Their
	// sum is the logarithm of the odds.
	Contributions []float64
}

// Rank scores the records of a pool and returns them best first, each once. Those of equal score are ordered by time,
// newest first, and then by id.
func (w *Weights) Rank(q Query, pool []Candidate) []Result {
	matrix := Features(q, pool)
	best := make(map[string]int, len(pool))
	scores := make([]float64, len(pool))
	for i := range pool {
		scores[i] = w.Score(matrix.Row(i))
		j, seen := best[pool[i].ID]
		if !seen || cmp.Or(cmp.Compare(scores[i], scores[j]), comparePart(&pool[i], &pool[j])) > 0 {
			best[pool[i].ID] = i
		}
	}
	order := make([]int, 0, len(best))
	for _, i := range best {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(scores[b], scores[a]), pool[b].Time.Compare(pool[a].Time), cmp.Compare(pool[a].ID, pool[b].ID),
		)
	})
	results := make([]Result, len(order))
	for n, i := range order {
		results[n] = Result{
			ID: pool[i].ID, Probability: Probability(scores[i]), Contributions: w.Explain(matrix.Row(i)),
		}
	}
	return results
}

// comparePart orders parts of one record that have the same score.
func comparePart(a, b *Candidate) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), a.Time.Compare(b.Time), cmp.Compare(a.Session, b.Session),
		cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Role, b.Role),
		cmp.Compare(a.Context, b.Context))
}

// Probability turns the logarithm of odds into a probability.
func Probability(score float64) float64 { return 1 / (1 + math.Exp(-score)) }
