package rank

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/longterm"
)

// The features of a candidate. Those of likeness are about 0 to 1, those that a text has or has not are 0 or 1.
const (
	dense          = iota // likeness of the dense vectors
	sparse                // likeness of the sparse vectors
	turnWords             // BM25 of the text
	bestWords             // the same as a share of the best in the pool
	pairWords             // BM25 of the text with the message before it
	windowWords           // BM25 of the text with the messages before and after it
	sessionWords          // BM25 of all candidates of its session
	rareWords             // the share of the query's words that it has, by their rarity
	speaker               // the query names who wrote it
	timeWords             // it has words of time, and the query asks when
	numberWords           // it has numbers, and the query asks how many
	nameWords             // it has names, and the query asks who or where
	question              // it ends with a question
	length                // the logarithm of its number of words
	previousDense         // dense likeness of the message before it
	aroundDense           // the better dense likeness of the messages two before and two after it
	nextRare              // rareWords of the message after it
	answers               // the message before it ends with a question, by its rareWords
	exact                 // it has the words of the query and no others, and they are more than courtesy
	dated                 // it is from a day that the query names
	age                   // how old it is: 0 for now, a half after 30 days, towards 1
	content               // the query has words that are more than courtesy
	denseDeviation        // how many deviations its dense likeness is above the mean of the pool
	nextDense             // dense likeness of the message after it
	featureCount
)

// Names are the names of the features, in the order of the columns.
var Names = [featureCount]string{
	"dense", "sparse", "turnWords", "bestWords", "pairWords", "windowWords", "sessionWords", "rareWords",
	"speaker", "timeWords", "numberWords", "nameWords", "question", "length", "previousDense", "aroundDense",
	"nextRare", "answers", "exact", "dated", "age", "content",
	"denseDeviation", "nextDense",
}

// Matrix has a row of features for each candidate.
type Matrix struct{ values []float64 }

// Row returns the features of a candidate, in the order of Names.
func (m Matrix) Row(i int) []float64 {
	return m.values[i*featureCount : (i+1)*featureCount : (i+1)*featureCount]
}

// candidate is a candidate with what its text shows.
type candidate struct {
	*Candidate
	index int // in the pool
	text
	// previous, next, secondPrevious and secondNext are the candidates around it in its session, or nil.
	previous, next, secondPrevious, secondNext *candidate
	// group is the number of its session.
	group int
	row   []float64
}

// halfAge is the age at which the feature age is a half.
const halfAge = 30 * 24 * time.Hour

// Features computes the features of each candidate.
func Features(query *Query, pool []Candidate) Matrix {
	m := Matrix{make([]float64, len(pool)*featureCount)}
	if len(pool) == 0 {
		return m
	}
	candidates, groups := arrange(pool)
	s := newScanner(query)
	counts := make([]int, len(pool)*len(query.terms))
	for i := range candidates {
		c := &candidates[i]
		c.row = m.Row(c.index)
		c.text = s.scan(c.Text, counts[:len(query.terms):len(query.terms)])
		counts = counts[len(query.terms):]
	}
	words := newWordScorer(query, candidates)
	words.score(candidates, groups)
	names := speakers(query, candidates)
	for i := range candidates {
		candidates[i].ownFeatures(query, names)
	}
	setDeviations(candidates)
	for i := range candidates {
		candidates[i].neighbourFeatures()
	}
	return m
}

// setDeviations sets the feature denseDeviation. It is 0 where all candidates are alike.
func setDeviations(candidates []candidate) {
	values := make([]float64, len(candidates))
	for i := range candidates {
		values[i] = candidates[i].row[dense]
	}
	slices.Sort(values) // a sum in another order would be another number
	n, mean, variance := float64(len(values)), 0.0, 0.0
	for _, x := range values {
		mean += x / n
	}
	for _, x := range values {
		variance += (x - mean) * (x - mean) / n
	}
	deviation := max(math.Sqrt(variance), leastDeviation)
	for i := range candidates {
		candidates[i].row[denseDeviation] = (candidates[i].row[dense] - mean) / deviation
	}
}

// leastDeviation is the least deviation of likenesses that differ by more than rounding.
const leastDeviation = 1e-3

// arrange brings the candidates of each session together, in the order in which they were said, and joins neighbours.
// The number of a session depends on the order of the pool, and no feature depends on that number.
func arrange(pool []Candidate) (candidates []candidate, groups int) {
	type place struct{ group, seq, index int }
	order := make([]place, len(pool))
	numbers := map[[2]string]int{}
	for i := range pool {
		c := &pool[i]
		group, known := numbers[[2]string{c.Session, c.Context}]
		if !known || c.Session == "" {
			group = groups
			groups++
			numbers[[2]string{c.Session, c.Context}] = group
		}
		order[i] = place{group, c.Seq, i}
	}
	slices.SortFunc(order, func(a, b place) int {
		if by := cmp.Or(a.group-b.group, cmp.Compare(a.seq, b.seq)); by != 0 {
			return by
		}
		return cmp.Or(cmp.Compare(pool[a.index].ID, pool[b.index].ID), comparePart(&pool[a.index], &pool[b.index]))
	})
	candidates = make([]candidate, len(pool))
	for i, p := range order {
		candidates[i] = candidate{Candidate: &pool[p.index], index: p.index, group: p.group}
		candidates[i].join(candidates[max(0, i-maxDistance):i])
	}
	return candidates, groups
}

// maxDistance is how far before a candidate its neighbours are looked for. Parts of long messages share a seq.
const maxDistance = 4

// join sets the neighbours of a candidate among those before it.
func (c *candidate) join(before []candidate) {
	for i := range before {
		other := &before[i]
		if c.group != other.group {
			continue
		}
		switch c.Seq - other.Seq {
		case 1:
			c.previous, other.next = cmp.Or(c.previous, other), cmp.Or(other.next, c)
		case 2:
			c.secondPrevious, other.secondNext = cmp.Or(c.secondPrevious, other), cmp.Or(other.secondNext, c)
		}
	}
}

// ownFeatures sets the features that need no neighbour.
func (c *candidate) ownFeatures(q *Query, names map[string]bool) {
	row := c.row
	row[dense] = 2*c.Score - row[sparse]
	row[speaker] = flag(names[c.Role] || c.head != "" && names[c.head])
	row[timeWords] = flag(q.when && c.hasTime)
	row[numberWords] = flag(q.number && c.hasNumber)
	row[nameWords] = flag(q.name && c.hasName)
	row[question] = flag(c.asks)
	row[length] = math.Log1p(float64(c.words))
	row[exact] = flag(!q.courtesy && c.words == q.words && longterm.Normalize(c.Text) == q.normalized)
	row[dated] = q.dates.share(c.Time)
	row[content] = flag(len(q.terms) > 0)
	row[age] = 1 - math.Exp2(-float64(max(0, q.now.Sub(c.Time)))/float64(halfAge))
}

// neighbourFeatures sets the features of the messages around it.
func (c *candidate) neighbourFeatures() {
	row := c.row
	row[previousDense], row[nextDense] = c.previous.feature(dense), c.next.feature(dense)
	row[nextRare] = c.next.feature(rareWords)
	row[aroundDense] = max(c.secondPrevious.feature(dense), c.secondNext.feature(dense))
	row[answers] = c.previous.feature(question) * c.previous.feature(rareWords)
}

// feature returns a feature of a neighbour, 0 where it is not in the pool.
func (c *candidate) feature(column int) float64 {
	if c == nil {
		return 0
	}
	return c.row[column]
}

func flag(set bool) float64 {
	if set {
		return 1
	}
	return 0
}
