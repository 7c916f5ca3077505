package main

import (
	"math"
	"slices"

	"github.com/throughline/throughline/internal/recall/rank"
)

// calibration turns the score of a ranking into the logarithm of the odds that a record is evidence: a slope for the
// score, one for the pool's rivals, and a constant.
type calibration [3]float64

// example is a record: what the calibration multiplies, what the weights set by hand add, 1 for evidence or else 0, and
// how much it counts.
type example struct {
	inputs                calibration
	offset, label, weight float64
}

func (c calibration) odds(e example) float64 {
	sum := e.offset
	for i, x := range e.inputs {
		sum += c[i] * x
	}
	return sum
}

// loss is what the logistic regression minimises.
func (c calibration) loss(examples []example) float64 {
	sum := 0.0
	for _, e := range examples {
		z := c.odds(e)
		sum += e.weight * (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - z*e.label)
	}
	return sum
}

// step is a step of Newton's method.
func (c calibration) step(examples []example) calibration {
	var gradient calibration
	var hessian [3]calibration
	for _, e := range examples {
		p := rank.Probability(c.odds(e))
		d, h := e.weight*(p-e.label), e.weight*p*(1-p)
		for i, x := range e.inputs {
			gradient[i] += d * x
			for j, y := range e.inputs {
				hessian[i][j] += h * x * y
			}
		}
	}
	return solve(hessian, gradient)
}

// solve solves a system of equations whose matrix is symmetric and not negative. What is undetermined is 0.
func solve(matrix [3]calibration, of calibration) (out calibration) {
	for i := range matrix {
		if matrix[i][i] < leastPivot {
			continue
		}
		for k := range matrix {
			if k == i {
				continue
			}
			factor := matrix[k][i] / matrix[i][i]
			for j := range matrix[k] {
				matrix[k][j] -= factor * matrix[i][j]
			}
			of[k] -= factor * of[i]
		}
	}
	for i := range matrix {
		if matrix[i][i] >= leastPivot {
			out[i] = of[i] / matrix[i][i]
		}
	}
	return out
}

// newtonSteps are more than the fit needs, of which the smallest are a thousandth of a step.
const (
	newtonSteps  = 25
	smallestStep = 1e-3
	closeEnough  = 1e-9
	leastPivot   = 1e-12
)

// calibrate fits a calibration by logistic regression over all pools, with those of small talk.
func calibrate(pools []pool, m model) calibration {
	examples := examplesOf(pools, m)
	c := calibration{1, 0, -15}
	now := c.loss(examples)
	for range newtonSteps {
		full, before := c.step(examples), now
		for share := 1.0; share > smallestStep; share /= 2 { // a whole step may go too far
			next := c
			for i := range next {
				next[i] -= share * full[i]
			}
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
	fixed := make(model, len(rank.Names))
	for name, weight := range setByHand {
		fixed[column(name)] = weight
	}
	weights := weightsOf(pools)
	var examples []example
	for n, p := range pools {
		scores := m.scores(p)
		rivals := rank.Rivals(scores)
		for i, score := range scores {
			inputs := calibration{score, rivals, 1}
			examples = append(examples, example{inputs, fixed.score(p.features.Row(i)), one(p.relevant[i]), weights[n]})
		}
	}
	return examples
}

// fitted is a ranking with its calibration: its weights are as the service reads them.
type fitted struct {
	model
	intercept float64
}

// calibrations is how often a ranking is calibrated at most: each time it is scaled by the slope, which changes what
// its rivals are, until the slope is about 1.
const (
	calibrations = 6
	steady       = 0.005
)

// fit fits a ranking and calibrates it, by the labelled questions of the kinds that have enough of them, and by small
// talk.
func fit(pools []pool) fitted {
	pools = enough(labelled(pools))
	m := fitRanking(pools)
	var c calibration
	for range calibrations {
		c = calibrate(pools, m)
		for j := range m {
			m[j] = round(c[0] * m[j])
		}
		if math.Abs(c[0]-1) < steady {
			break
		}
	}
	for name, weight := range setByHand {
		m[column(name)] = weight
	}
	m[column("rivals")] = round(c[1])
	return fitted{m, round(c[2])}
}

// fittedOf returns weights of the service as a fit.
func fittedOf(w *rank.Weights) fitted {
	f := fitted{make(model, len(rank.Names)), w.Intercept}
	for j, name := range rank.Names {
		f.model[j] = w.Features[name]
	}
	return f
}

// features are the weights by name, without those that are 0.
func (f fitted) features() map[string]float64 {
	out := map[string]float64{}
	for j, name := range rank.Names {
		if w := f.model[j]; w != 0 {
			out[name] = w
		}
	}
	return out
}

func (f fitted) probabilities(p pool) []float64 {
	compared := slices.Clone(f.model)
	for name := range setByHand {
		compared[column(name)] = 0
	}
	rivals := f.model[column("rivals")] * rank.Rivals(compared.scores(p))
	out := f.scores(p)
	for i := range out {
		out[i] = rank.Probability(out[i] + rivals + f.intercept)
	}
	return out
}

func column(name string) int { return slices.Index(rank.Names[:], name) }

func round(x float64) float64 { return math.Round(x*1000) / 1000 }
