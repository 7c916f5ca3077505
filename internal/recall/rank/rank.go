// Package rank orders the matches of the vector index by how likely each is to hold what a query asks for.
//
// The index knows one likeness of each text with the query. Features (features.go) adds what the whole pool of matches
// shows: which of the query's words are rare there, what was said directly before and after, who said it, and when.
// Weights (weights.go) says how much each feature counts. They are fitted by infra/bench/fit and stored as JSON.
// A score is the logarithm of odds, the sum of the features' contributions; it becomes a probability.
//
// The package is pure: it reads no clock and makes no call, and the order of the pool does not change a score.
package rank

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
)

// Candidate is a match of the index: a message, a part of one, or the note of a check-in.
type Candidate struct {
	// ID is the id of the record. Parts of one message have the same, and the same place.
	ID string
	// Context, Session and Seq say where a message is. A check-in has no session.
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

// Result is the score of one record.
type Result struct {
	ID string
	// Probability is how likely the record holds what the query asks for, by the data that the weights were fitted on.
	Probability float64
	// Contributions are the parts of the score. Their sum is the logarithm of the odds.
	Contributions Contributions
}

// Contributions are the parts of a score, by feature, in the order of Names. The last one is the intercept. In JSON
// they are an object that has the parts by name, without those that are 0.
type Contributions []float64

// intercept is the name of the last contribution in JSON.
const intercept = "intercept"

// MarshalJSON writes the parts with three decimals.
func (c Contributions) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, part := range c {
		if part = math.Round(1e3*part) / 1e3; part == 0 {
			continue
		}
		name := intercept
		if i < featureCount {
			name = Names[i]
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = strconv.AppendFloat(append(strconv.AppendQuote(out, name), ':'), part, 'f', -1, 64)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes. Names that are no feature any more are left out.
func (c *Contributions) UnmarshalJSON(text []byte) error {
	var parts map[string]float64
	if err := json.Unmarshal(text, &parts); err != nil || parts == nil {
		return err
	}
	*c = make(Contributions, featureCount+1)
	for i, name := range Names {
		(*c)[i] = parts[name]
	}
	(*c)[featureCount] = parts[intercept]
	return nil
}

// Rank scores the records of a pool and returns them best first, each once. Those of equal score are ordered by time,
// newest first, and then by id.
func (w *Weights) Rank(q *Query, pool []Candidate) []Result {
	matrix := Features(q, pool)
	w.setRivals(matrix)
	order, scores := make([]int, matrix.Len()), make([]float64, matrix.Len())
	for i := range order {
		order[i], scores[i] = i, w.Score(matrix.Row(i))
	}
	slices.SortFunc(order, func(a, b int) int {
		if scores[a] != scores[b] {
			return cmp.Compare(scores[b], scores[a])
		}
		first, second := matrix.first[a], matrix.first[b]
		return cmp.Or(second.Time.Compare(first.Time), cmp.Compare(first.ID, second.ID))
	})
	results := make([]Result, len(order))
	parts := make(Contributions, 0, len(order)*(featureCount+1))
	for n, i := range order {
		from := len(parts)
		parts = w.appendParts(parts, matrix.Row(i))
		results[n] = Result{
			ID: matrix.ID(i), Probability: Probability(scores[i]), Contributions: parts[from:len(parts):len(parts)],
		}
	}
	return results
}

// Probability turns the logarithm of odds into a probability.
func Probability(score float64) float64 { return 1 / (1 + math.Exp(-score)) }
