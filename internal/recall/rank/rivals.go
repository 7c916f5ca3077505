package rank

import "math"

// elsewhere is the logarithm of what is added to the pool's own odds for what is not in it: with less, any record of a
// short history would be likely, for want of others.
const elsewhere = 9

// Rivals returns the feature rivals of a pool: the logarithm of the sum of the odds of its records. Where many records
// are alike, each is less likely than one that is alone with as many of the query's words. The scores are by the
// features that compare records with each other: without exact, age, content and the intercept.
func Rivals(scores []float64) float64 {
	most := float64(elsewhere)
	for _, s := range scores {
		most = max(most, s)
	}
	sum := math.Exp(elsewhere - most)
	for _, s := range scores {
		sum += math.Exp(s - most)
	}
	return most + math.Log(sum)
}

// setRivals sets the feature rivals of each record.
func (w *Weights) setRivals(m Matrix) {
	if m.Len() == 0 {
		return
	}
	scores := make([]float64, m.Len())
	for i := range scores {
		for j, value := range m.Row(i)[:exact] {
			scores[i] += w.columns[j] * value
		}
	}
	value := Rivals(scores)
	for i := range scores {
		m.Row(i)[rivals] = value
	}
}
