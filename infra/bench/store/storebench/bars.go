package storebench

import (
	"fmt"

	"github.com/throughline/throughline/infra/bench/report"
)

// tolerance is the highest ratio of a cost to what it is compared with.
const tolerance = 1.10

// Bars compares the result with the limits. A bar for which a row is missing is not held.
func (r Result) Bars() []report.Bar {
	bars := []report.Bar{
		report.AtMost("warm append: capacity over the bare transaction's", r.overFloor(Warm, BareTurn), tolerance),
		report.AtMost("warm append with key: capacity over the bare transaction's",
			r.overFloor(WarmKeyed, BareTurnKeyed), tolerance),
		report.AtMost("warm append: most calls", r.most(Turn, Warm, WarmKeyed), 1),
		report.AtMost("cold append: most calls", r.most(Turn, Cold, ColdKeyed), 2),
	}
	longest := report.Thousands(float64(r.Settings.Lengths[len(r.Settings.Lengths)-1]))
	for _, contender := range []string{Warm, WarmKeyed, Cold, ColdKeyed} {
		name := fmt.Sprintf("append at %s messages: capacity over the cheapest at fewer (%s)", longest, contender)
		bars = append(bars, report.AtMost(name, r.growth(Turn, contender), tolerance))
	}
	for _, k := range []Kind{Newest, Last} {
		for _, contender := range []string{Warm, Cold} {
			name := fmt.Sprintf("%s of %s messages: capacity over the cheapest full one of fewer (%s)",
				k, longest, contender)
			bars = append(bars, report.AtMost(name, r.growth(k, contender), tolerance))
		}
	}
	return append(bars,
		report.AtMost("page: most calls, warm or cold", max(r.most(Newest, Warm, Cold), r.most(Last, Warm, Cold)), 2),
		report.AtMost("messages missed, repeated or misplaced in paging through every session", float64(r.Wrong), 0),
	)
}

// missing is the value of a comparison that cannot be made.
const missing = -1

// overFloor returns the highest ratio of a contender's units per turn to the floor's at the same length.
func (r Result) overFloor(contender, floor string) float64 {
	highest := 0.0
	for _, length := range r.Settings.Lengths {
		ours, ok := r.Row(Turn, contender, length)
		bare, okBare := r.Row(Turn, floor, length)
		if !ok || !okBare || bare.Units() == 0 {
			return missing
		}
		highest = max(highest, ours.Units()/bare.Units())
	}
	return highest
}

// growth returns the ratio of a contender's units in the longest session to the fewest in a shorter one. Pages are
// compared if they hold the same number of messages.
func (r Result) growth(k Kind, contender string) float64 {
	lengths := r.Settings.Lengths
	long, ok := r.Row(k, contender, lengths[len(lengths)-1])
	if !ok {
		return missing
	}
	highest := float64(missing)
	for _, length := range lengths[:len(lengths)-1] {
		if row, ok := r.Row(k, contender, length); ok && row.Messages == long.Messages && row.Units() > 0 {
			highest = max(highest, long.Units()/row.Units())
		}
	}
	return highest
}

// most returns the most calls that one operation of any of the contenders took, at any length.
func (r Result) most(k Kind, contenders ...string) float64 {
	calls := missing
	for _, contender := range contenders {
		for _, length := range r.lengths(k) {
			row, ok := r.Row(k, contender, length)
			if !ok {
				return missing
			}
			calls = max(calls, row.MostCalls)
		}
	}
	return float64(calls)
}
