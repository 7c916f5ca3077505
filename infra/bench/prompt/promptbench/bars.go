package promptbench

import (
	"fmt"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/prompt"
)

// Result is what a trial found.
type Result struct {
	Date      string         `json:"date"`
	Machine   report.Machine `json:"machine"`
	Settings  Settings       `json:"settings"`
	Walls     []Wall         `json:"walls"`
	Efforts   []Effort       `json:"efforts"`
	Growth    []Growth       `json:"growth"`
	Chat      Chat           `json:"chat"`
	Starts    []Start        `json:"starts"`
	Tokenizer Tokenizer      `json:"tokenizer"`
}

// Bar is a value that may not be above its limit.
type Bar struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit,omitempty"`
}

// Held reports whether the value is within its limit.
func (b Bar) Held() bool { return b.Value <= b.Limit }

// The limits of design 6 that concern prompts and the turns of a chat.
const (
	medianOverCritical = 1.05
	p99OverCritical    = 1.2
	fromRecordsMS      = 2
	withDecodingMS     = 8
	growthRatio        = 1.10
	startMS            = 60
	startWaves         = 1
	turnCalls          = 13
	turnDepth          = 6
	turnBehind         = 6
)

// Bars compares the result with design 6.
func (o Result) Bars() []Bar {
	var bars []Bar
	for _, w := range o.Walls {
		if w.Recipe == prompt.Unified {
			bars = append(bars, Bar{"unified: wall time over its critical path, median", w.RatioMedian, medianOverCritical, ""},
				Bar{"unified: wall time over its critical path, p99", w.RatioP99, p99OverCritical, ""})
		}
	}
	for _, e := range o.Efforts {
		if e.Recipe == prompt.TieredHistory {
			bars = append(bars, Bar{"tiered-history: own CPU from decoded records, median", milliseconds(e.Records), fromRecordsMS, "ms"},
				Bar{"tiered-history: own CPU with decoding, median", milliseconds(e.Decoding), withDecodingMS, "ms"})
		}
	}
	bars = append(append(bars, o.growthBars()...), o.Chat.bars()...)
	for _, s := range o.Starts {
		bars = append(bars, Bar{s.Function + ": process start to ready, median", milliseconds(s.Median), startMS, "ms"},
			Bar{s.Function + ": remote calls that follow each other at start", float64(s.Waves), startWaves, ""})
	}
	return bars
}

func (c Chat) bars() []Bar {
	if c.Turns == 0 {
		return nil
	}
	return []Bar{
		{"chat: remote calls of a turn until done, most", float64(c.Calls), turnCalls, ""},
		{"chat: deep before the first token, most", float64(c.Depth), turnDepth, ""},
		{"chat: remote calls behind a turn, mean", c.Behind, turnBehind, ""},
	}
}

func (o Result) growthBars() []Bar {
	var bars []Bar
	for _, g := range o.Growth[min(1, len(o.Growth)):] {
		first := o.Growth[0]
		over := fmt.Sprintf("%s messages over %s: ", report.Thousands(float64(g.Messages)), report.Thousands(float64(first.Messages)))
		bars = append(bars,
			Bar{over + "remote calls", float64(g.Calls+g.OtherCalls) / float64(first.Calls+first.OtherCalls), 1, ""},
			Bar{over + "read units", g.ReadUnits / first.ReadUnits, growthRatio, ""},
			Bar{over + "time", float64(g.Median) / float64(first.Median), growthRatio, ""},
		)
	}
	return bars
}

// Missed names the bars that were not held.
func (o Result) Missed() []string {
	var names []string
	for _, b := range o.Bars() {
		if !b.Held() {
			names = append(names, b.Name)
		}
	}
	return names
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
