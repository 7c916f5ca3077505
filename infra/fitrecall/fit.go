package main

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/throughline/throughline/internal/recall/rank"
)

// The parameters of the optimiser (Adam). They are fixed, so that fitting is deterministic.
const (
	steps    = 200
	rate     = 0.05
	beta1    = 0.9
	beta2    = 0.999
	strength = 0.002 // of the L2 penalty on weights of standardised features
	atLeast  = 1e-9
)

// signs are the signs that weights may have, where that is not plus.
var signs = map[string]float64{"question": -1}

// setByHand are the weights of features that the ranking cannot be fitted by: they are the same in a whole pool, or
// rare in the data. Small talk never has evidence, so that the data would take any weight of content.
var setByHand = map[string]float64{"age": -0.5, "exact": 10, "content": 6}

// model is a linear score of features.
type model struct{ weights []float64 }

func (m model) score(row []float64) float64 {
	sum := 0.0
	for i, w := range m.weights {
		sum += w * row[i]
	}
	return sum
}

// scales returns the deviation of each feature within pools, and 0 for those that are not fitted.
func scales(pools []pool, skip []string) []float64 {
	n := len(rank.Names)
	sums, count := make([]float64, n), 0.0
	for _, p := range pools {
		means := make([]float64, n)
		for i := range p.candidates {
			for j, x := range p.features.Row(i) {
				means[j] += x / float64(len(p.candidates))
			}
		}
		for i := range p.candidates {
			for j, x := range p.features.Row(i) {
				sums[j] += (x - means[j]) * (x - means[j])
			}
		}
		count += float64(len(p.candidates))
	}
	for j := range sums {
		sums[j] = math.Sqrt(sums[j] / max(count, 1))
		if _, fixed := setByHand[rank.Names[j]]; fixed || slices.Contains(skip, rank.Names[j]) {
			sums[j] = 0
		}
	}
	return sums
}

// fitRanking fits weights so that evidence stands before the rest of its pool: it minimises the logarithm of the share
// that each message of evidence has of the softmax over itself and what is no evidence.
func fitRanking(pools []pool, skip []string) model {
	pools = slices.DeleteFunc(slices.Clone(pools), func(p pool) bool { return !slices.Contains(p.relevant, true) })
	scale := scales(pools, skip)
	n := len(scale)
	m := model{make([]float64, n)}
	first, second := make([]float64, n), make([]float64, n)
	for step := 1; step <= steps; step++ {
		gradient := gradientOf(pools, m)
		for j, s := range scale {
			if s == 0 {
				continue
			}
			g := gradient[j]*s + strength*m.weights[j]*s
			first[j] = beta1*first[j] + (1-beta1)*g
			second[j] = beta2*second[j] + (1-beta2)*g*g
			update := rate * (first[j] / (1 - math.Pow(beta1, float64(step)))) /
				(math.Sqrt(second[j]/(1-math.Pow(beta2, float64(step)))) + atLeast)
			m.weights[j] -= update * (1 - float64(step)/float64(steps+1)) / s
			if sign := signs[rank.Names[j]]; sign*m.weights[j] < 0 || sign == 0 && m.weights[j] < 0 {
				m.weights[j] = 0
			}
		}
	}
	return m
}

// gradientOf returns the gradient of the loss, a mean over pools. The sum does not depend on the number of cores.
func gradientOf(pools []pool, m model) []float64 {
	const chunks = 16
	parts := make([][]float64, chunks)
	var wg sync.WaitGroup
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	for c := range chunks {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			parts[c] = make([]float64, len(m.weights))
			for _, p := range pools[c*len(pools)/chunks : (c+1)*len(pools)/chunks] {
				p.addGradient(m, parts[c], 1/float64(len(pools)))
			}
		})
	}
	wg.Wait()
	sum := make([]float64, len(m.weights))
	for _, part := range parts {
		for j, g := range part {
			sum[j] += g
		}
	}
	return sum
}

func (p pool) addGradient(m model, gradient []float64, share float64) {
	scores, most := make([]float64, len(p.candidates)), math.Inf(-1)
	for i := range scores {
		scores[i] = m.score(p.features.Row(i))
		most = max(most, scores[i])
	}
	rest, mean, positives := 0.0, make([]float64, len(gradient)), 0
	for i := range scores {
		scores[i] = math.Exp(scores[i] - most)
		if p.relevant[i] {
			positives++
			continue
		}
		rest += scores[i]
		for j, x := range p.features.Row(i) {
			mean[j] += scores[i] * x
		}
	}
	for i, relevant := range p.relevant {
		if !relevant {
			continue
		}
		all := rest + scores[i]
		for j, x := range p.features.Row(i) {
			gradient[j] += share / float64(positives) * ((mean[j]+scores[i]*x)/all - x)
		}
	}
}
