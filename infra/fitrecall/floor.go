package main

import (
	"fmt"
	"math"
)

// certain is how many standard errors a mean has to be below 0 for more than noise.
const certain = 2

// checkFloor refuses a ranking that is below the index's own score or BM25 by more than noise: on a data set or for a
// class of its questions, in R@10 or B1000. The noise is that of the mean of the differences of the questions.
func checkFloor(pools []pool, r ranking) error {
	floors := []row{{"the index", byIndex}, {"BM25", byWords}}
	for _, group := range []func(p pool) string{bySet, byCategory} {
		names, groups := grouped(pools, group)
		for _, name := range names {
			for _, floor := range floors {
				for _, cutoff := range []int{at10, at1000} {
					gain, noise := difference(groups[name], r, floor.ranking, cutoff)
					if gain < -certain*noise {
						return fmt.Errorf("%s: the weights find %.1f points less than %s (noise %.1f): they are not written",
							name, -100*gain, floor.name, 100*noise)
					}
				}
			}
		}
	}
	return nil
}

// difference returns how much more a ranking finds than another one, and the standard error of that mean.
func difference(pools []pool, r, other ranking, cutoff int) (gain, noise float64) {
	n, squares := float64(len(pools)), 0.0
	for _, p := range pools {
		d := r(p)[cutoff] - other(p)[cutoff]
		gain += d / n
		squares += d * d / n
	}
	return gain, math.Sqrt(max(0, squares-gain*gain) / max(1, n-1))
}
