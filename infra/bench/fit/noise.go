package main

import (
	"fmt"
	"io"
)

// noise is the probability below which a record is noise. It was chosen by the table that reportNoise prints: nearly
// all questions have a record above it on each data set, and most small talk has none.
const noise = 0.001

// reportNoise prints for some limits which share of questions and of small talk has a better record, and which share
// of the evidence is above them, for each data set. The probabilities are of weights that have not seen the data.
func reportNoise(out io.Writer, pools []pool, probabilities scorer) {
	fmt.Fprintf(out, "\n%-20s %8s %10s %10s %10s\n", "noise", "", "questions", "evidence", "small talk")
	names, _ := grouped(pools, bySet)
	for _, name := range names {
		for _, least := range []float64{0.0001, 0.0005, noise, 0.002, 0.005, 0.01} {
			var asked, answered [2]float64 // of small talk and of questions
			var kept, evidence float64
			for _, p := range pools {
				if p.set != name {
					continue
				}
				kind, best := 0, 0.0
				if p.category != "" {
					kind = 1
				}
				for i, q := range probabilities(p) {
					relevant := p.relevant[i]
					best = max(best, q)
					evidence += one(relevant)
					kept += one(relevant && q >= least)
				}
				asked[kind]++
				answered[kind] += one(best >= least)
			}
			fmt.Fprintf(out, "%-20s %8g %9.1f%% %9.1f%% %9.1f%%\n", name, least, 100*answered[1]/max(asked[1], 1),
				100*kept/max(evidence, 1), 100*answered[0]/max(asked[0], 1))
		}
	}
}
