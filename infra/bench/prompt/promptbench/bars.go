package promptbench

import (
	"fmt"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/prompt"
)

// The limits. Limits of times are ratios to a floor of the same run. docs/adr/0010 describes the ratios.
const (
	medianOverCritical   = 1.05
	p99OverCritical      = 1.2
	recordsOverCounting  = 0.2
	decodingOverDecoding = 1.5
	growthRatio          = 1.10
	startOverEmpty       = 3
	startWaves           = 1
	turnCalls            = 13
	turnDepth            = 5
	callsAfterTurn       = 6
	changedShare         = 0.25
	changedAcross        = 0.40
)

// Bars compares the result with the limits.
func (r Result) Bars() []report.Bar {
	var bars []report.Bar
	for _, w := range r.Walls {
		if w.Recipe == prompt.Unified {
			bars = append(bars,
				report.AtMost("unified: wall time over its critical path, median", w.RatioMedian, medianOverCritical),
				report.AtMost("unified: wall time over its critical path, p99", w.RatioP99, p99OverCritical))
		}
	}
	for _, c := range r.CPUs {
		if c.Recipe == prompt.TieredHistory {
			bars = append(bars,
				report.AtMost("tiered-history: own CPU from decoded records over counting the text's tokens",
					c.recordsRatio(), recordsOverCounting),
				report.AtMost("tiered-history: own CPU with decoding over the SDK's bare decoding",
					c.decodingRatio(), decodingOverDecoding))
		}
	}
	bars = append(bars, r.growthBars()...)
	bars = append(bars, r.Chat.bars()...)
	bars = append(bars, r.reuseBars()...)
	return append(bars, r.Starts.bars()...)
}

func (r Result) growthBars() []report.Bar {
	var bars []report.Bar
	for _, g := range r.Growth[min(1, len(r.Growth)):] {
		first := r.Growth[0]
		over := fmt.Sprintf("%s messages over %s: ",
			report.Thousands(float64(g.Messages)), report.Thousands(float64(first.Messages)))
		calls := float64(g.Calls+g.OtherCalls) / float64(first.Calls+first.OtherCalls)
		bars = append(bars,
			report.AtMost(over+"remote calls", calls, 1),
			report.AtMost(over+"read units", g.ReadUnits/first.ReadUnits, growthRatio),
			report.AtMost(over+"time", float64(g.Median)/float64(first.Median), growthRatio))
	}
	return bars
}

// reuseBars are those of the layout of unified, at its own budget.
func (r Result) reuseBars() []report.Bar {
	var bars []report.Bar
	for _, u := range r.Reuse {
		if u.Layout == byAge && u.Budget == barBudget {
			bars = append(bars,
				report.AtMost("a day's chat: share of a prompt that the turn before did not begin with, median",
					1-u.Median, changedShare),
				report.AtMost("a day's chat: the same across a summary or an extraction, median", 1-u.Across, changedAcross))
		}
	}
	return bars
}

func (c Chat) bars() []report.Bar {
	if c.Turns == 0 {
		return nil
	}
	return []report.Bar{
		report.AtMost("chat: remote calls of a turn until done, most", float64(c.Calls), turnCalls),
		report.AtMost("chat: deep before the first token, most", float64(c.Depth), turnDepth),
		report.AtMost("chat: remote calls after a turn, mean", c.After, callsAfterTurn),
	}
}

func (s Starts) bars() []report.Bar {
	var bars []report.Bar
	for _, f := range s.Functions {
		name, took := f.Function+": start to ready over an empty function's", f.Median
		if f.Function == promptFunction {
			name, took = name+", without building the vocabulary", took-s.Vocabulary
		}
		bars = append(bars,
			report.AtMost(name, max(0, s.overEmpty(took)), startOverEmpty),
			report.AtMost(f.Function+": remote calls that follow each other at start", float64(f.Waves), startWaves))
	}
	return bars
}

// overEmpty returns the ratio of a time to the start of the empty function.
func (s Starts) overEmpty(t time.Duration) float64 { return float64(t) / float64(s.Empty) }
