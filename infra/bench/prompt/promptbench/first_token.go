package promptbench

import (
	"time"

	"github.com/throughline/throughline/infra/bench/report"
)

// FirstToken is the time from a turn's request to its first token, without the time that the chat model takes to it.
// Its floor is the critical path of the remote calls before the model's. The times are medians.
type FirstToken struct {
	Critical time.Duration `json:"criticalNs"`
	Median   time.Duration `json:"medianNs"`
	// RatioMedian and RatioP99 are of single turns.
	RatioMedian float64 `json:"ratioMedian"`
	RatioP99    float64 `json:"ratioP99"`
}

// firstToken returns the times of turns that were played with these latencies.
func firstToken(turns []turn, l Latencies) FirstToken {
	var times, criticals []time.Duration
	var ratios []float64
	for _, t := range turns {
		own, critical := t.first-l.Model, t.criticalToModel(l.Lambda)
		times, criticals = append(times, own), append(criticals, critical)
		ratios = append(ratios, float64(own)/float64(critical))
	}
	return FirstToken{
		Critical: report.Median(criticals), Median: report.Median(times),
		RatioMedian: upperQuantile(ratios, 0.5), RatioP99: upperQuantile(ratios, 0.99),
	}
}

// criticalToModel is the time of the slowest chain of calls before the model's: the coach function's before it invokes
// the prompt function, the invocation, and the prompt function's.
func (all calls) criticalToModel(invocationTime time.Duration) time.Duration {
	var before, within []call
	for _, invoked := range all {
		if invoked.Function != coachFunction || invoked.Call != invocation {
			continue
		}
		for _, c := range all {
			switch {
			case c.Function == coachFunction && !c.end.After(invoked.begin):
				before = append(before, c)
			case c.Function == promptFunction:
				within = append(within, c)
			}
		}
	}
	first, _ := criticalPath(before)
	second, _ := criticalPath(within)
	return first + invocationTime + second
}
