package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/prompt"
)

// report returns the tables and the bars of what was measured. docs/adr/0010 describes the ratios.
func (r result) report() report.Result {
	l := r.settings.latency
	out := report.Result{Note: fmt.Sprintf("DynamoDB Local, the local Pinecone and the offline model; %d repeats, "+
		"%d starts. No service answers before its latency has passed: DynamoDB %s, the embedding %s, Pinecone %s",
		r.settings.repeats, r.settings.starts, l.dynamoDB, l.embedding, l.pinecone)}
	r.reportRecipes(&out)
	r.reportGrowth(&out)
	r.chat.report(&out)
	t := out.AddTable(fmt.Sprintf("What a provider's cache can reuse of a day's chat of %d turns", r.settings.day),
		"budget", "tokens", "as the turn before, %")
	t.Add(report.Thousands(barBudget), r.reuse.tokens, report.Percent(r.reuse.median))
	out.AddBar("a day's chat: share of a prompt that the turn before did not begin with, median", 1-r.reuse.median, 0.25)
	r.starts.report(&out)
	return out
}

func (r result) reportRecipes(out *report.Result) {
	t := out.AddTable("Wall time over the critical path",
		"recipe", "remote calls", "deep", "critical path, ms", "wall time, ms", "ratio p50", "ratio p99")
	w, c := r.wall, r.cpu
	fromRecords, withDecoding := ratio(c.fromRecords, c.counting), ratio(c.withDecoding, c.bareDecoding)
	t.Add(prompt.Unified, w.calls, w.depth, w.critical, w.median, w.ratio50, w.ratio99)
	out.AddBar("unified: wall time over its critical path, median", w.ratio50, 1.05)
	out.AddBar("unified: wall time over its critical path, p99", w.ratio99, 1.2)
	t = out.AddTable("Own CPU time per prompt, 120,000 characters of history stored", "recipe", "tokens", "characters",
		"from records, ms", "counting, ms", "ratio", "with decoding, ms", "bare decoding, ms", "ratio")
	t.Add(prompt.TieredHistory, c.tokens, c.characters, c.fromRecords, c.counting, fromRecords, c.withDecoding,
		c.bareDecoding, withDecoding)
	out.AddBar("tiered-history: own CPU from decoded records over counting the text's tokens", fromRecords, 0.2)
	out.AddBar("tiered-history: own CPU with decoding over the SDK's bare decoding", withDecoding, 1.5)
}

func (r result) reportGrowth(out *report.Result) {
	t := out.AddTable("A unified prompt over the length of the history", "stored messages", "DynamoDB calls",
		"other calls", "read units", "time, ms")
	for i, g := range r.growth {
		t.Add(report.Thousands(float64(g.messages)), g.calls, g.others, g.readUnits, g.median)
		if i == 0 {
			continue
		}
		first := r.growth[0]
		over := fmt.Sprintf("%s messages over %d: ", report.Thousands(float64(g.messages)), first.messages)
		out.AddBar(over+"remote calls", float64(g.calls+g.others)/float64(first.calls+first.others), 1)
		out.AddBar(over+"read units", g.readUnits/first.readUnits, 1.1)
		out.AddBar(over+"time", ratio(g.median, first.median), 1.1)
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func (c chat) report(out *report.Result) {
	t := out.AddTable("The calls of a turn, in their order", "call", "deep")
	for _, s := range c.steps {
		t.Add(s.String(), s.depth)
	}
	t.Add(fmt.Sprintf("most of %d turns", c.turns), c.calls)
	t.Add("the session's first turn", c.first)
	t.Add("deep before the first token, the session's first turn", c.firstDepth)
	t = out.AddTable("The calls after a turn, with several instances of each function", "call", "mean")
	for _, name := range slices.Sorted(maps.Keys(c.followers)) {
		t.Add(name, c.followers[name])
	}
	out.AddBar("chat: remote calls of a turn until done, most", float64(c.calls), 13)
	out.AddBar("chat: deep before the first token, most", float64(c.depth), 5)
	out.AddBar("chat: remote calls after a turn, mean", c.after, 6)
}

func (s starts) report(out *report.Result) {
	t := out.AddTable("From the start of a function's process to its first request for an invocation",
		"function", "median, ms", "over the empty one", "remote calls", "deep")
	t.Add("an empty function", s.empty, 1)
	t.Add("building the vocabulary", s.vocabulary, ratio(s.vocabulary, s.empty))
	for _, f := range s.functions {
		t.Add(f.name, f.median(), ratio(f.median(), s.empty), f.calls, f.waves)
		name, took := f.name+": start to ready over an empty function's", f.median()
		if f.name == promptFunction {
			name, took = name+", without building the vocabulary", took-s.vocabulary
		}
		out.AddBar(name, max(0, ratio(took, s.empty)), 3)
		out.AddBar(f.name+": remote calls that follow each other at start", float64(f.waves), 1)
	}
}
