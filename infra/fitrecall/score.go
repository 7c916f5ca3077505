package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// The cutoffs of evidence recall: the first k messages, and the messages that fit, best first, a budget of tokens of
// four characters.
var (
	ranks   = [...]int{5, 10, 25}
	budgets = [...]int{500, 1000, 2000, 3000}
)

// limit is how many messages a recall returns at most.
const limit = 100

// recallScore sums the shares of evidence within each cutoff.
type recallScore struct {
	questions int
	sums      [len(ranks) + len(budgets)]float64
}

func (s *recallScore) add(p pool, scores []float64) {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	s.questions++
	var used [len(budgets)]int
	seen := map[string]bool{}
	place := 0
	for _, i := range order {
		if c := p.candidates[i]; seen[c.ID] || place == limit {
			continue
		}
		seen[p.candidates[i].ID] = true
		gain := 0.0
		if p.relevant[i] {
			gain = 1 / float64(p.evidence)
		}
		for k, most := range ranks {
			if place < most {
				s.sums[k] += gain
			}
		}
		chars := utf8.RuneCountInString(p.candidates[i].Text)
		for b, tokens := range budgets {
			if used[b]+chars <= 4*tokens {
				used[b] += chars
				s.sums[len(ranks)+b] += gain
			}
		}
		place++
	}
}

func (s *recallScore) String() string {
	var out strings.Builder
	for _, sum := range s.sums {
		fmt.Fprintf(&out, " %6.1f", 100*sum/float64(max(s.questions, 1)))
	}
	return out.String()
}

// table scores pools by category; "all" are all.
type table map[string]*recallScore

const all = "all"

func scoreAll(pools []pool, score func(p pool, i int) float64) table {
	t := table{all: {}}
	for _, p := range pools {
		if p.category == "" {
			continue
		}
		scores := make([]float64, len(p.candidates))
		for i := range scores {
			scores[i] = score(p, i)
		}
		if t[p.category] == nil {
			t[p.category] = &recallScore{}
		}
		t[p.category].add(p, scores)
		t[all].add(p, scores)
	}
	return t
}

// report prints a line for each category.
func report(out io.Writer, pools []pool, name string, score func(p pool, i int) float64) {
	t := scoreAll(pools, score)
	for _, c := range append([]string{all}, categoriesOf(pools)...) {
		fmt.Fprintf(out, "%-10s %-12s %4d %s\n", name, c, t[c].questions, t[c].String())
	}
}

// reportOne prints a line for all categories.
func reportOne(out io.Writer, pools []pool, name string, score func(p pool, i int) float64) {
	fmt.Fprintf(out, "%-28s %s\n", name, scoreAll(pools, score)[all].String())
}

// noise is the probability below which a record is noise. It was chosen by the table that reportNoise prints: nearly
// all evidence has it, and four of five lines of small talk bring nothing that has it.
const noise = 0.0005

// reportNoise prints for some limits how many questions and how much small talk have a candidate that is better, and
// how many candidates are. Models and calibrations have not seen the conversation.
func reportNoise(out io.Writer, pools []pool, models []model) {
	calibrations := make([]calibration, len(models))
	for n, m := range models {
		calibrations[n] = calibrate(without(pools, n), m)
	}
	fmt.Fprintf(out, "%-8s %10s %10s %10s %10s %10s\n", "noise", "questions", "hits", "evidence", "small talk", "hits")
	probabilities := make([][]float64, len(pools))
	for n, p := range pools {
		probabilities[n] = calibrations[p.sample].probabilities(models[p.sample], p)
	}
	for _, least := range []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2} {
		var kept, evidence float64
		var asked, answered, hits [2]float64 // of small talk and of questions
		for n, p := range pools {
			kind, above := 0, 0.0
			if p.category != "" {
				kind = 1
			}
			for i, probability := range probabilities[n] {
				over := probability >= least
				above += one(over)
				evidence += one(p.relevant[i])
				kept += one(p.relevant[i] && over)
			}
			asked[kind]++
			answered[kind] += one(above > 0)
			hits[kind] += above
		}
		fmt.Fprintf(out, "%-8g %9.1f%% %10.1f %9.1f%% %9.1f%% %10.1f\n", least, 100*answered[1]/asked[1],
			hits[1]/asked[1], 100*kept/evidence, 100*answered[0]/asked[0], hits[0]/asked[0])
	}
}

func one(set bool) float64 {
	if set {
		return 1
	}
	return 0
}
