package main

import (
	"maps"
	"math"
	"slices"

	"github.com/throughline/throughline/internal/recall/rank"
)

// calibration turns the score of a ranking into the logarithm of the odds that a candidate is evidence.
type calibration struct{ slope, intercept float64 }

// example is a candidate: its score, what the weights set by hand add to it, and 1 for evidence, else 0.
type example struct{ score, offset, label float64 }

// loss is what the logistic regression minimises.
func (c calibration) loss(examples []example) float64 {
	sum := 0.0
	for _, e := range examples {
		z := c.slope*e.score + c.intercept + e.offset
		sum += max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - z*e.label
	}
	return sum
}

// newtonSteps are more than the fit needs, of which the smallest are a millionth of a step.
const (
	newtonSteps  = 25
	smallestStep = 1e-6
)

// calibrate fits a calibration by logistic regression over all pools, with those of small talk.
func calibrate(pools []pool, m model) calibration {
	fixed := make([]float64, len(rank.Names))
	for name, weight := range setByHand {
		fixed[column(name)] = weight
	}
	var rows []example
	for _, p := range pools {
		for i := range p.candidates {
			features := p.features.Row(i)
			rows = append(rows, example{m.score(features), model{fixed}.score(features), one(p.relevant[i])})
		}
	}
	c := calibration{slope: 1, intercept: -15}
	for range newtonSteps {
		var g0, g1, h00, h01, h11 float64
		for _, r := range rows {
			p := rank.Probability(c.slope*r.score + c.intercept + r.offset)
			g0, g1 = g0+p-r.label, g1+(p-r.label)*r.score
			h := p * (1 - p)
			h00, h01, h11 = h00+h, h01+h*r.score, h11+h*r.score*r.score
		}
		determinant := h00*h11 - h01*h01
		if determinant == 0 {
			break
		}
		now, next := c.loss(rows), c
		for step := 1.0; step > smallestStep; step /= 2 { // a whole step may go too far
			next = calibration{
				slope:     c.slope - step*(h00*g1-h01*g0)/determinant,
				intercept: c.intercept - step*(h11*g0-h01*g1)/determinant,
			}
			if next.loss(rows) <= now {
				break
			}
		}
		if next.loss(rows) > now || next == c {
			break
		}
		c = next
	}
	return c
}

// weights are the ranking and its calibration as the service reads them.
func (c calibration) weights(m model) map[string]float64 {
	out := map[string]float64{}
	for j, name := range rank.Names {
		if w := round(c.slope * m.weights[j]); w != 0 {
			out[name] = w
		}
	}
	maps.Copy(out, setByHand)
	return out
}

// probabilities are those of a pool's candidates.
func (c calibration) probabilities(m model, p pool) []float64 {
	weights := make([]float64, len(rank.Names))
	for name, w := range c.weights(m) {
		weights[column(name)] = w
	}
	out := make([]float64, len(p.candidates))
	for i := range out {
		out[i] = rank.Probability(model{weights}.score(p.features.Row(i)) + c.intercept)
	}
	return out
}

func column(name string) int { return slices.Index(rank.Names[:], name) }

func round(x float64) float64 { return math.Round(x*1000) / 1000 }
