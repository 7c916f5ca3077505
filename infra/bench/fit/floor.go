package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/throughline/throughline/infra/bench/recall/cutoff"
)

// certain is how many standard errors the mean of a data set has to be below 0 for more than noise, certainClass that
// of one of its many classes: of fifty, one or two are two errors below by chance.
const (
	certain      = 2
	certainClass = 3
)

// checkFloor refuses a ranking that is below the index's own score or BM25 by more than noise: on a data set or for a
// class of its questions, in R@10, B500 or B1000. The noise is that of the mean of the differences of the questions.
// The error names all that is below, and the weights by what they were fitted on. Only labelled questions count.
func checkFloor(pools []pool, fittedOn string, r ranking) error {
	var below []string
	for n, group := range []func(p pool) string{bySet, byCategory} {
		names, groups := grouped(labelled(pools), group)
		for _, name := range names {
			for _, floor := range []row{{"the index", byIndex}, {"BM25", byWords}} {
				for _, place := range []int{cutoff.R10, cutoff.B500, cutoff.B1000} {
					gain, noise := difference(groups[name], r, floor.ranking, place)
					if gain < -[]float64{certain, certainClass}[n]*noise {
						below = append(below, fmt.Sprintf("%s: %s is %.1f points below %s (noise %.1f)",
							name, cutoff.Names[place], -100*gain, floor.name, 100*noise))
					}
				}
			}
		}
	}
	if below == nil {
		return nil
	}
	return fmt.Errorf("weights fitted on %s find too little, so none are written: %s", fittedOn, strings.Join(below, "; "))
}

// difference returns how much more a ranking finds than another one, and the standard error of that mean.
func difference(pools []pool, r, other ranking, place int) (gain, noise float64) {
	n, squares := float64(len(pools)), 0.0
	for _, p := range pools {
		d := r(p)[place] - other(p)[place]
		gain += d / n
		squares += d * d / n
	}
	return gain, math.Sqrt(max(0, squares-gain*gain) / max(1, n-1))
}
