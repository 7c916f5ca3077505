package rank

import (
	"math"
	"slices"

	"github.com/throughline/throughline/internal/longterm"
)

// The features of a record. None has a unit that depends on how long or how many the messages of a user are: they are
// shares of the best of the pool, deviations from its mean, or flags.
const (
	words        = iota // how unlikely it has so many words of the query by chance, as a share of the best in the pool
	allWords            // the same, as a share of what a text of usual length would have with all of them, at most 2
	together            // the same as words, of those words alone that are close to another of them
	dense               // how many deviations its dense likeness is above the mean of the pool
	near                // the best likeness of the other messages of its session, falling with their distance
	around              // the words of the query in the messages around it, falling with their distance
	sessionWords        // words of all messages of its session that are in the pool
	speaker             // the query names who wrote it
	timeWords           // it has words of time, and the query asks when
	numberWords         // it has numbers, and the query asks how many
	nameWords           // it has names, and the query asks who or where
	dated               // it is from a day that the query names
	answers             // the message before it ends with a question, by its words
	question            // it ends with a question and has hardly more than that
	length              // how many words it has, up to 16: longer ones are all alike
	brief               // it is by the side that writes shorter messages, by how much shorter they are
	exact               // it has the words of the query and no others, and they are more than courtesy
	age                 // how many of the pool are newer: 0 for the newest, a half for a tenth of the pool, towards 1
	content             // the query has words that are more than courtesy
	rivals              // how much there is in the pool that could be meant: set once the other features are weighed
	featureCount
)

// Names are the names of the features, in the order of the columns.
var Names = [featureCount]string{
	"words", "allWords", "together", "dense", "near", "around", "sessionWords", "speaker", "timeWords", "numberWords",
	"nameWords", "dated", "answers", "question", "length", "brief", "exact", "age", "content",
	"rivals",
}

const (
	// halfAge is the share of newer records at which the feature age is a half. It does not go by days: who comes back
	// after months goes on where they stopped, also when they have said something new before they ask.
	halfAge = 0.1
	// enoughWords is the length from which on longer messages are alike, questionWords that of a message that is more
	// than a question.
	enoughWords   = 16
	questionWords = 30
	// Deviations are limited, and those of likenesses that differ by rounding only are none.
	leastDeviation      = 1e-3
	lowest, highest     = -3, 6
	nearBy, aroundBy    = 6, 4 // messages, after which likeness and words have fallen to a third
	mostAround, mostGap = 3, 2
)

// Matrix has a row of features for each record of a pool.
type Matrix struct {
	values []float64
	// first has a candidate of each record.
	first []*Candidate
}

// Len returns the number of records.
func (m Matrix) Len() int { return len(m.first) }

// ID returns the id of a record.
func (m Matrix) ID(i int) string { return m.first[i].ID }

// Row returns the features of a record, in the order of Names.
func (m Matrix) Row(i int) []float64 {
	return m.values[i*featureCount : (i+1)*featureCount : (i+1)*featureCount]
}

// Features computes the features of each record of a pool. Rivals is 0: it needs weights.
func Features(query *Query, pool []Candidate) Matrix {
	if len(pool) == 0 {
		return Matrix{}
	}
	s := newScanner(query)
	records, groups := arrange(pool, s)
	m := Matrix{make([]float64, len(records)*featureCount), make([]*Candidate, len(records))}
	for i := range records {
		m.first[i], records[i].row = records[i].first, m.Row(i)
	}
	scorer := newWordScorer(query, records)
	scorer.score(records, groups)
	setDense(records, scorer)
	names := speakers(query, records)
	for i := range records {
		records[i].ownFeatures(query, s, names)
	}
	setAge(records)
	setBrief(records)
	setNear(records)
	return m
}

// ownFeatures sets the features that need nothing of the rest of the pool.
func (r *record) ownFeatures(q *Query, s *scanner, names map[string]bool) {
	row, c := r.row, r.first
	row[speaker] = flag(names[c.Role] || r.head != "" && names[r.head])
	row[timeWords] = flag(q.when && r.hasTime)
	row[numberWords] = flag(q.number && r.hasNumber)
	row[nameWords] = flag(q.name && r.hasName)
	row[dated] = q.dates.share(c.Time)
	if r.previous != nil {
		row[answers] = flag(r.previous.asks) * r.previous.row[words]
	}
	row[question] = flag(r.asks) * max(0, 1-float64(r.words)/questionWords)
	row[length] = float64(min(r.words, enoughWords)) / enoughWords
	row[exact] = flag(!q.courtesy && r.words == s.queryWords && longterm.Normalize(c.Text) == q.normalized)
	row[content] = flag(len(q.terms) > 0)
}

// bestOfParts returns the best likeness of each record's parts. The best of several is better than a single one would
// be by chance: what is expected of the best of n is taken off.
func bestOfParts(records []record, likeness func(p *part) float64) []float64 {
	var all []float64
	best := make([]float64, len(records))
	for i := range records {
		best[i] = math.Inf(-1)
		for j := range records[i].parts {
			x := likeness(&records[i].parts[j])
			all, best[i] = append(all, x), max(best[i], x)
		}
	}
	_, deviation := spread(all)
	for i := range best {
		best[i] -= deviation * luck(len(records[i].parts))
	}
	return best
}

// setDense sets the feature dense.
func setDense(records []record, s *wordScorer) {
	best := bestOfParts(records, func(p *part) float64 { return 2*p.Score - s.cosine(p.text) })
	mean, deviation := spread(best)
	for i := range records {
		records[i].row[dense] = min(max((best[i]-mean)/deviation, lowest), highest)
	}
}

// luck is about how many deviations the best of n values is above their mean.
func luck(n int) float64 { return math.Sqrt(2 * math.Log(float64(n))) }

// spread returns the mean of values and their deviation, which is not 0.
func spread(values []float64) (mean, deviation float64) {
	n, variance := float64(len(values)), 0.0
	for _, x := range values {
		mean += x / n
	}
	for _, x := range values {
		variance += (x - mean) * (x - mean) / n
	}
	return mean, max(math.Sqrt(variance), leastDeviation)
}

// setAge sets the feature age.
func setAge(records []record) {
	byTime := make([]*record, len(records))
	for i := range records {
		byTime[i] = &records[i]
	}
	slices.SortFunc(byTime, func(a, b *record) int { return b.first.Time.Compare(a.first.Time) })
	newer := 0
	for i, r := range byTime {
		if r.first.Time.Before(byTime[newer].first.Time) {
			newer = i
		}
		r.row[age] = 1 - math.Exp2(-float64(newer)/float64(len(records))/halfAge)
	}
}

// setBrief sets the feature brief: that of an assistant which writes pages is 0 and that of its user is up to 2. Where
// both sides write alike it is about 0 for both.
func setBrief(records []record) {
	var sides [2][]float64
	side := func(r *record) int {
		if r.first.Role == "user" {
			return 0
		}
		return 1
	}
	for i := range records {
		n := side(&records[i])
		sides[n] = append(sides[n], math.Log1p(float64(records[i].words)))
	}
	if len(sides[0]) == 0 || len(sides[1]) == 0 {
		return
	}
	gap, briefer := median(sides[1])-median(sides[0]), 0
	if gap < 0 {
		gap, briefer = -gap, 1
	}
	for i := range records {
		if side(&records[i]) == briefer {
			records[i].row[brief] = min(gap, mostGap)
		}
	}
}

// setNear sets the features of the messages of a session that are near.
func setNear(records []record) {
	likeness := likenesses(records)
	for from := 0; from < len(records); {
		to := from + 1
		for to < len(records) && records[to].group == records[from].group {
			to++
		}
		session := records[from:to]
		addNear(session, likeness[from:to], 1)
		addNear(session, likeness[from:to], -1)
		from = to
	}
	for i := range records {
		records[i].row[around] = min(records[i].row[around], mostAround)
	}
}

// likenesses returns the likeness of each record as the index has it: 0 for the median of the pool or less, 1 for the
// best.
func likenesses(records []record) []float64 {
	out := bestOfParts(records, func(p *part) float64 { return p.Score })
	best, middle := slices.Max(out), median(out)
	for i := range out {
		out[i] = max(0, out[i]-middle) / max(best-middle, leastDeviation)
	}
	return out
}

// addNear goes through a session and adds what each record gains by those before it, or with the step -1 by those
// after it.
func addNear(session []record, likeness []float64, step int) {
	first := 0
	if step < 0 {
		first = len(session) - 1
	}
	best, sum := 0.0, 0.0
	for n := range session {
		i := first + n*step
		r := &session[i]
		if n > 0 {
			distance := math.Abs(float64(r.first.Seq - session[i-step].first.Seq))
			best *= math.Exp(-distance / nearBy)
			sum *= math.Exp(-distance / aroundBy)
		}
		r.row[near] = max(r.row[near], best)
		r.row[around] += sum
		best, sum = max(best, likeness[i]), sum+r.row[words]*r.row[words]
	}
}

func flag(set bool) float64 {
	if set {
		return 1
	}
	return 0
}
