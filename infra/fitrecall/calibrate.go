package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/throughline/throughline/internal/recall/rank"
)

// calibration turns the score of a ranking into the logarithm of the odds that a record is evidence.
type calibration struct{ slope, intercept float64 }

// example is a record: its score, what the weights set by hand add to it, 1 for evidence or else 0, and how much it
// counts.
type example struct{ score, offset, label, weight float64 }

// loss is what the logistic regression minimises.
func (c calibration) loss(examples []example) float64 {
	sum := 0.0
	for _, e := range examples {
		z := c.slope*e.score + c.intercept + e.offset
		sum += e.weight * (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - z*e.label)
	}
	return sum
}

// step is a step of Newton's method.
func (c calibration) step(examples []example) calibration {
	var g0, g1, h00, h01, h11 float64
	for _, e := range examples {
		p := rank.Probability(c.slope*e.score + c.intercept + e.offset)
		d, h := e.weight*(p-e.label), e.weight*p*(1-p)
		g0, g1 = g0+d, g1+d*e.score
		h00, h01, h11 = h00+h, h01+h*e.score, h11+h*e.score*e.score
	}
	determinant := h00*h11 - h01*h01
	if determinant == 0 {
		return calibration{}
	}
	return calibration{slope: (h00*g1 - h01*g0) / determinant, intercept: (h11*g0 - h01*g1) / determinant}
}

// newtonSteps are more than the fit needs, of which the smallest are a thousandth of a step.
const (
	newtonSteps  = 25
	smallestStep = 1e-3
	closeEnough  = 1e-9
)

// calibrate fits a calibration by logistic regression over all pools, with those of small talk.
func calibrate(pools []pool, m model) calibration {
	examples := examplesOf(pools, m)
	c := calibration{slope: 1, intercept: -15}
	now := c.loss(examples)
	for range newtonSteps {
		full, before := c.step(examples), now
		for share := 1.0; share > smallestStep; share /= 2 { // a whole step may go too far
			next := calibration{c.slope - share*full.slope, c.intercept - share*full.intercept}
			if loss := next.loss(examples); loss < now {
				c, now = next, loss
				break
			}
		}
		if before-now < closeEnough {
			break
		}
	}
	return c
}

func examplesOf(pools []pool, m model) []example {
	fixed := model{make([]float64, len(rank.Names))}
	for name, weight := range setByHand {
		fixed.weights[column(name)] = weight
	}
	weights := weightsOf(pools)
	var examples []example
	for n, p := range pools {
		for i := range p.relevant {
			row := p.features.Row(i)
			examples = append(examples, example{m.score(row), fixed.score(row), one(p.relevant[i]), weights[n]})
		}
	}
	return examples
}

// fitted is a ranking with its calibration: its weights are as the service reads them.
type fitted struct {
	model
	intercept float64
}

// fit fits a ranking and calibrates it.
func fit(pools []pool, skip []string) fitted {
	m := fitRanking(pools, skip)
	c := calibrate(pools, m)
	for j := range m.weights {
		m.weights[j] = round(c.slope * m.weights[j])
	}
	for name, weight := range setByHand {
		m.weights[column(name)] = weight
	}
	return fitted{m, round(c.intercept)}
}

// features are the weights by name, without those that are 0.
func (f fitted) features() map[string]float64 {
	out := map[string]float64{}
	for j, name := range rank.Names {
		out[name] = f.weights[j]
	}
	maps.DeleteFunc(out, func(_ string, w float64) bool { return w == 0 })
	return out
}

func (f fitted) probability(p pool, i int) float64 {
	return rank.Probability(f.score(p.features.Row(i)) + f.intercept)
}

// reportReliability prints for each data set how often records of about a probability are evidence.
func reportReliability(out io.Writer, pools []pool, probability func(p pool, i int) float64) {
	limits := []float64{0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 1}
	fmt.Fprintf(out, "\n%-20s %10s %10s %10s\n", "probability up to", "records", "said", "evidence")
	names, groups := grouped(pools, bySet)
	for _, name := range names {
		counts, said, evidence := make([]float64, len(limits)), make([]float64, len(limits)), make([]float64, len(limits))
		for _, p := range groups[name] {
			for i := range p.relevant {
				q := probability(p, i)
				n, _ := slices.BinarySearch(limits, q)
				counts[n], said[n], evidence[n] = counts[n]+1, said[n]+q, evidence[n]+one(p.relevant[i])
			}
		}
		for n, most := range limits {
			all := max(counts[n], 1)
			fmt.Fprintf(out, "%-14s %5g %10.0f %9.1f%% %9.1f%%\n", name, most, counts[n], 100*said[n]/all, 100*evidence[n]/all)
		}
	}
}

func column(name string) int { return slices.Index(rank.Names[:], name) }

func round(x float64) float64 { return math.Round(x*1000) / 1000 }
