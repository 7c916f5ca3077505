package trial

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
)

// Bar is one number of design 6 and whether it was reached.
type Bar struct {
	What string
	Held bool
}

// The bars of design 6 that concern prompts.
const (
	medianOverCritical = 1.05
	p99OverCritical    = 1.2
	ownLimit           = 2 * time.Millisecond
	decodingLimit      = 8 * time.Millisecond
	growthLimit        = 0.10
)

func (s Speed) over(d time.Duration) float64 { return float64(d) / float64(s.Critical) }

// Bars compares an outcome with design 6. Wall time is held to the critical path where that holds the embedding: the
// other recipes wait for DynamoDB alone, a few milliseconds, and their own time is held by itself.
func (o Outcome) Bars() []Bar {
	var bars []Bar
	for _, s := range o.Speeds {
		if s.Critical > o.Latency.Embedding {
			bars = append(bars,
				Bar{fmt.Sprintf("%s: wall over critical path %.3f at the median (at most %.2f)", s.Recipe, s.over(s.Median), medianOverCritical), s.over(s.Median) <= medianOverCritical},
				Bar{fmt.Sprintf("%s: wall over critical path %.3f at p99 (at most %.2f)", s.Recipe, s.over(s.P99), p99OverCritical), s.over(s.P99) <= p99OverCritical},
			)
		}
		bars = append(bars,
			Bar{fmt.Sprintf("%s: own CPU %s (at most %s)", s.Recipe, ms(s.Own), ms(ownLimit)), s.Own <= ownLimit},
			Bar{fmt.Sprintf("%s: own CPU with decoding %s (at most %s)", s.Recipe, ms(s.Decoding), ms(decodingLimit)), s.Decoding <= decodingLimit},
		)
	}
	first := o.Growth[0]
	for _, g := range o.Growth[1:] {
		bars = append(bars,
			Bar{fmt.Sprintf("%d messages: %d calls, as with %d", g.Messages, g.Calls, first.Messages), g.Calls == first.Calls},
			Bar{fmt.Sprintf("%d messages: %.1f read units (within 10%% of %.1f)", g.Messages, g.ReadUnits, first.ReadUnits), near(g.ReadUnits, first.ReadUnits)},
			Bar{fmt.Sprintf("%d messages: %s (within 10%% of %s)", g.Messages, ms(g.Median), ms(first.Median)), float64(g.Median) <= float64(first.Median)*(1+growthLimit)},
		)
	}
	return bars
}

func near(a, b float64) bool { return math.Abs(a-b) <= growthLimit*b }

// Held reports whether every bar was.
func (o Outcome) Held() bool {
	for _, b := range o.Bars() {
		if !b.Held {
			return false
		}
	}
	return true
}

func (o Outcome) tables() (speeds, growth report.Table) {
	speeds.Header = []string{"recipe", "critical path", "wall p50", "wall p99", "own CPU", "with decoding", "allocations", "tokens", "characters"}
	for _, s := range o.Speeds {
		speeds.Add(s.Recipe, ms(s.Critical), ms(s.Median), ms(s.P99), ms(s.Own), ms(s.Decoding), report.Thousands(float64(s.Allocations)),
			report.Thousands(float64(s.Tokens)), report.Thousands(float64(s.Characters)))
	}
	growth.Header = []string{"stored messages", "DynamoDB calls", "read units", "wall p50 on DynamoDB Local"}
	for _, g := range o.Growth {
		growth.Add(report.Thousands(float64(g.Messages)), fmt.Sprint(g.Calls), fmt.Sprintf("%.1f", g.ReadUnits), ms(g.Median))
	}
	return speeds, growth
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }

// Text is the outcome for a terminal.
func (o Outcome) Text() string {
	speeds, growth := o.tables()
	var b strings.Builder
	b.WriteString(o.head() + "\n\n" + speeds.Text() + "\n" + growth.Text() + "\n")
	for _, bar := range o.Bars() {
		sign := "held  "
		if !bar.Held {
			sign = "MISSED"
		}
		b.WriteString(sign + "  " + bar.What + "\n")
	}
	return b.String()
}

// Markdown is the outcome for a document.
func (o Outcome) Markdown() string {
	speeds, growth := o.tables()
	return "## Prompts\n\n" + o.head() + "\n\n" + speeds.Markdown() + "\nOwn CPU is the median from decoded records to the rendered prompt; " +
		"with decoding it is the process's CPU time for a whole prompt.\n\n" + growth.Markdown()
}

func (o Outcome) head() string {
	return fmt.Sprintf("%s, %s. %d prompts each; DynamoDB answers in %s, the embedding in %s, Pinecone in %s. The newest 480 messages, 120,000 characters, are of today.",
		o.Date, o.Machine, o.Repeats, o.Latency.DynamoDB, o.Latency.Embedding, o.Latency.Pinecone)
}
