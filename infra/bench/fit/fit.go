package main

import (
	"cmp"
	"math"
	"runtime"
	"slices"

	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/recall/rank"
)

// The parameters of the optimiser (Adam). They are fixed, so that fitting is deterministic.
const (
	steps    = 120
	rate     = 0.08
	beta1    = 0.9
	beta2    = 0.999
	strength = 0.003 // of the L2 penalty on weights of standardised features
	atLeast  = 1e-9
)

// signs are the signs that weights may have, where that is not plus.
var signs = map[string]float64{"question": -1}

// setByHand are the weights of features that the ranking cannot be fitted by. Age would be fitted to when a data set's
// evidence was written. An exact repeat is rare in the data. Content is the same in a whole pool, and small talk never
// has evidence, so that the data would take any weight of it.
var setByHand = map[string]float64{"age": -0.35, "exact": 10, "content": 6}

// isFitted reports whether a feature is fitted with the ranking: it is not set by hand, and not rivals, which is fitted
// with the probability.
func isFitted(name string) bool {
	_, byHand := setByHand[name]
	return !byHand && name != "rivals"
}

// model is a linear score of features.
type model []float64

func (m model) score(row []float64) float64 {
	sum := 0.0
	for i, w := range m {
		sum += w * row[i]
	}
	return sum
}

func (m model) scores(p pool) []float64 {
	out := make([]float64, p.size())
	for i := range out {
		out[i] = m.score(p.features.Row(i))
	}
	return out
}

// weightsOf returns how much each pool counts: each kind of data as much as another one, and each data set of a kind,
// whatever its number of questions.
func weightsOf(pools []pool) []float64 {
	kinds, counts := map[string]map[string]bool{}, map[string]float64{}
	for _, p := range pools {
		if counts[p.set]++; kinds[byKind(p)] == nil {
			kinds[byKind(p)] = map[string]bool{}
		}
		kinds[byKind(p)][p.set] = true
	}
	weights := make([]float64, len(pools))
	for n, p := range pools {
		weights[n] = 1 / (counts[p.set] * float64(len(kinds)*len(kinds[byKind(p)])))
	}
	return weights
}

// scales returns the deviation of each feature within pools, and 0 for those that are not fitted.
func scales(pools []pool, weights []float64) []float64 {
	n := len(rank.Names)
	sums := make([]float64, n)
	for k, p := range pools {
		share, means := 1/float64(p.size()), make([]float64, n)
		for i := range p.relevant {
			for j, x := range p.features.Row(i) {
				means[j] += x * share
			}
		}
		for i := range p.relevant {
			for j, x := range p.features.Row(i) {
				sums[j] += weights[k] * share * (x - means[j]) * (x - means[j])
			}
		}
	}
	for j := range sums {
		sums[j] = math.Sqrt(sums[j])
		if !isFitted(rank.Names[j]) {
			sums[j] = 0
		}
	}
	return sums
}

// fitRanking fits weights so that evidence comes before the rest of its pool: it minimises the logarithm of the share
// that each message of evidence has of the softmax over itself and what is no evidence. Each data set counts the same,
// each question of it the same, and each message of its evidence the same. A weight keeps the sign that its feature
// should have, so that no feature makes up for another one by a habit of the data.
func fitRanking(pools []pool) model {
	pools = slices.DeleteFunc(slices.Clone(pools), func(p pool) bool { return !slices.Contains(p.relevant, true) })
	weights := weightsOf(pools)
	scale := scales(pools, weights)
	examples := make([][]int, len(pools))
	for n, p := range pools {
		examples[n] = p.examples()
	}
	n := len(scale)
	m := make(model, n)
	first, second := make([]float64, n), make([]float64, n)
	for step := 1; step <= steps; step++ {
		gradient := gradientOf(pools, examples, weights, m)
		for j, s := range scale {
			if s == 0 {
				continue
			}
			g := gradient[j]*s + strength*m[j]*s
			first[j] = beta1*first[j] + (1-beta1)*g
			second[j] = beta2*second[j] + (1-beta2)*g*g
			update := rate * (first[j] / (1 - math.Pow(beta1, float64(step)))) /
				(math.Sqrt(second[j]/(1-math.Pow(beta2, float64(step)))) + atLeast)
			m[j] -= update * (1 - float64(step)/float64(steps+1)) / s
			if sign := signs[rank.Names[j]]; sign*m[j] < 0 || sign == 0 && m[j] < 0 {
				m[j] = 0
			}
		}
	}
	return m
}

// gradientOf returns the gradient of the loss, a weighted mean over pools. The sum does not depend on the number of
// cores.
func gradientOf(pools []pool, examples [][]int, weights []float64, m model) []float64 {
	const chunks = 16
	parts := make([][]float64, chunks)
	parallel.Each(chunks, runtime.GOMAXPROCS(0), func(c int) {
		parts[c] = make([]float64, len(m))
		for n := c * len(pools) / chunks; n < (c+1)*len(pools)/chunks; n++ {
			pools[n].addGradient(m, examples[n], parts[c], weights[n])
		}
	})
	sum := make([]float64, len(m))
	for _, part := range parts {
		for j, g := range part {
			sum[j] += g
		}
	}
	return sum
}

// rivals is how many records of a pool the evidence competes with: the best by each of two simple rankings. The rest is
// below them anyway, and fitting costs a quarter.
const rivals = 60

// examples returns the records that a pool is fitted with: its evidence and the rivals.
func (p pool) examples() []int {
	chosen := make([]bool, p.size())
	copy(chosen, p.relevant)
	wordsColumn := column("words")
	for _, value := range []func(i int) float64{
		func(i int) float64 { return p.index[i] }, func(i int) float64 { return p.features.Row(i)[wordsColumn] },
	} {
		order := make([]int, p.size())
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value(b), value(a)) })
		for _, i := range order[:min(rivals, len(order))] {
			chosen[i] = true
		}
	}
	var out []int
	for i, is := range chosen {
		if is {
			out = append(out, i)
		}
	}
	return out
}

func (p pool) addGradient(m model, examples []int, gradient []float64, share float64) {
	scores, most := make([]float64, len(examples)), math.Inf(-1)
	for n, i := range examples {
		scores[n] = m.score(p.features.Row(i))
		most = max(most, scores[n])
	}
	rest, mean, positives := 0.0, make([]float64, len(gradient)), 0
	for n, i := range examples {
		scores[n] = math.Exp(scores[n] - most)
		if p.relevant[i] {
			positives++
			continue
		}
		rest += scores[n]
		for j, x := range p.features.Row(i) {
			mean[j] += scores[n] * x
		}
	}
	for n, i := range examples {
		if !p.relevant[i] {
			continue
		}
		all := rest + scores[n]
		for j, x := range p.features.Row(i) {
			gradient[j] += share / float64(positives) * ((mean[j]+scores[n]*x)/all - x)
		}
	}
}
