package storebench

import (
	"fmt"

	"github.com/throughline/throughline/infra/bench/report"
)

// Bar is something that has to hold (design 6, issue of the message store): a value that may not be above its limit.
type Bar struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Held  bool    `json:"held"`
}

// tolerance is how far a cost may be above what it is compared with.
const tolerance = 1.10

// Judge compares an result with the bars. A comparison for which a row is missing is not held.
func (o Result) Judge() []Bar {
	bars := []Bar{
		bar("warm append: capacity over the bare transaction's", tolerance, o.overFloor(Warm, BareTurn)),
		bar("warm append with key: capacity over the bare transaction's", tolerance, o.overFloor(WarmKeyed, BareTurnKeyed)),
		bar("warm append: most calls", 1, o.most(Turn, Warm, WarmKeyed)),
		bar("cold append: most calls", 2, o.most(Turn, Cold, ColdKeyed)),
	}
	longest := report.Thousands(float64(o.Settings.Lengths[len(o.Settings.Lengths)-1]))
	for _, contender := range []string{Warm, WarmKeyed, Cold, ColdKeyed} {
		name := fmt.Sprintf("append at %s messages: capacity over the cheapest at fewer (%s)", longest, contender)
		bars = append(bars, bar(name, tolerance, o.growth(Turn, contender)))
	}
	for _, k := range []Kind{Newest, Last} {
		for _, contender := range []string{Warm, Cold} {
			name := fmt.Sprintf("%s of %s messages: capacity over the cheapest full one of fewer (%s)", k, longest, contender)
			bars = append(bars, bar(name, tolerance, o.growth(k, contender)))
		}
	}
	return append(bars,
		bar("page: most calls, warm or cold", 2, max(o.most(Newest, Warm, Cold), o.most(Last, Warm, Cold))),
		bar("messages missed, repeated or misplaced in paging through every session", 0, float64(o.Wrong)),
	)
}

func bar(name string, limit, value float64) Bar {
	return Bar{name, value, limit, value >= 0 && value <= limit}
}

// missing is the value of a comparison that cannot be made.
const missing = -1

// overFloor is the highest ratio of a contender's units per turn to the floor's at the same length.
func (o Result) overFloor(contender, floor string) float64 {
	highest := 0.0
	for _, length := range o.Settings.Lengths {
		ours, ok := o.Row(Turn, contender, length)
		bare, okBare := o.Row(Turn, floor, length)
		if !ok || !okBare || bare.Units() == 0 {
			return missing
		}
		highest = max(highest, ours.Units()/bare.Units())
	}
	return highest
}

// growth is the ratio of a contender's units in the longest session to the fewest in a shorter one. Pages are compared
// where they hold as many messages.
func (o Result) growth(k Kind, contender string) float64 {
	lengths := o.Settings.Lengths
	long, ok := o.Row(k, contender, lengths[len(lengths)-1])
	if !ok {
		return missing
	}
	highest := float64(missing)
	for _, length := range lengths[:len(lengths)-1] {
		if r, ok := o.Row(k, contender, length); ok && r.Messages == long.Messages && r.Units() > 0 {
			highest = max(highest, long.Units()/r.Units())
		}
	}
	return highest
}

// most is the most calls that one operation of any of the contenders took, at any length.
func (o Result) most(k Kind, contenders ...string) float64 {
	calls := missing
	for _, contender := range contenders {
		for _, length := range o.lengths(k) {
			r, ok := o.Row(k, contender, length)
			if !ok {
				return missing
			}
			calls = max(calls, r.MostCalls)
		}
	}
	return float64(calls)
}

// Held reports whether every bar was held.
func (o Result) Held() bool {
	for _, b := range o.Bars {
		if !b.Held {
			return false
		}
	}
	return true
}
