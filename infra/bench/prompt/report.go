package main

import (
	"fmt"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
)

// report returns the tables and the bars of what was measured. docs/adr/0010 describes the ratios.
func (r result) report() report.Result {
	l := r.settings.latency
	b := builder{report.Result{Note: fmt.Sprintf("DynamoDB Local, the local Pinecone and the offline model; %d repeats, "+
		"%d starts. No service answers before its latency has passed: DynamoDB %s, the embedding %s, Pinecone %s",
		r.settings.repeats, r.settings.starts, l.dynamoDB, l.embedding, l.pinecone)}}
	b.recipes(r)
	b.growth(r.growth)
	b.chat(r.chat)
	t := b.table(fmt.Sprintf("What a provider's cache can reuse of a day's chat of %d turns", r.settings.day),
		"budget", "tokens", "as the turn before, %")
	t.Add(report.Thousands(barBudget), r.reuse.tokens, report.Percent(r.reuse.median))
	b.bar("a day's chat: share of a prompt that the turn before did not begin with, median", 1-r.reuse.median, 0.25)
	b.starts(r.starts)
	return b.Result
}

type builder struct{ report.Result }

func (b *builder) table(title string, header ...string) *report.Table {
	t := report.NewTable(title, header...)
	b.Tables = append(b.Tables, t)
	return t
}

func (b *builder) bar(name string, value, limit float64) {
	b.Bars = append(b.Bars, report.Bar{Name: name, Value: value, Limit: limit})
}

func (b *builder) recipes(r result) {
	t := b.table("Wall time over the critical path",
		"recipe", "remote calls", "deep", "critical path, ms", "wall time, ms", "ratio p50", "ratio p99")
	w, c := r.wall, r.cpu
	t.Add(w.recipe, w.calls, w.depth, w.critical, w.median, w.ratio50, w.ratio99)
	b.bar("unified: wall time over its critical path, median", w.ratio50, 1.05)
	b.bar("unified: wall time over its critical path, p99", w.ratio99, 1.2)
	t = b.table("Own CPU time per prompt, 120,000 characters of history stored", "recipe", "tokens", "characters",
		"from records, ms", "counting, ms", "ratio", "with decoding, ms", "bare decoding, ms", "ratio")
	t.Add(c.recipe, c.tokens, c.characters, c.fromRecords, c.counting, c.recordsRatio(), c.withDecoding,
		c.bareDecoding, c.decodingRatio())
	b.bar("tiered-history: own CPU from decoded records over counting the text's tokens", c.recordsRatio(), 0.2)
	b.bar("tiered-history: own CPU with decoding over the SDK's bare decoding", c.decodingRatio(), 1.5)
}

func (b *builder) growth(all []growth) {
	t := b.table("A unified prompt over the length of the history", "stored messages", "DynamoDB calls", "other calls",
		"read units", "time, ms")
	for i, g := range all {
		t.Add(report.Thousands(float64(g.messages)), g.calls, g.others, g.readUnits, g.median)
		if i == 0 {
			continue
		}
		first := all[0]
		over := fmt.Sprintf("%s messages over %d: ", report.Thousands(float64(g.messages)), first.messages)
		b.bar(over+"remote calls", float64(g.calls+g.others)/float64(first.calls+first.others), 1)
		b.bar(over+"read units", g.readUnits/first.readUnits, 1.1)
		b.bar(over+"time", ratio(g.median, first.median), 1.1)
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func (b *builder) chat(c chat) {
	t := b.table("The calls of a turn, in their order", "call", "deep")
	for _, s := range c.steps {
		t.Add(s.String(), s.depth)
	}
	t.Add(fmt.Sprintf("most of %d turns", c.turns), c.calls)
	t.Add("the session's first turn", c.first)
	t.Add("deep before the first token, the session's first turn", c.firstDepth)
	t = b.table("The calls after a turn, with several instances of each function", "call", "mean")
	for _, f := range c.followers {
		t.Add(f.String(), f.mean)
	}
	b.bar("chat: remote calls of a turn until done, most", float64(c.calls), 13)
	b.bar("chat: deep before the first token, most", float64(c.depth), 5)
	b.bar("chat: remote calls after a turn, mean", c.after, 6)
}

func (b *builder) starts(s starts) {
	t := b.table("From the start of a function's process to its first request for an invocation",
		"function", "median, ms", "over the empty one", "remote calls", "deep")
	t.Add("an empty function", s.empty, 1)
	t.Add("building the vocabulary", s.vocabulary, ratio(s.vocabulary, s.empty))
	for _, f := range s.functions {
		t.Add(f.name, f.median(), ratio(f.median(), s.empty), f.calls, f.waves)
		name, took := f.name+": start to ready over an empty function's", f.median()
		if f.name == promptFunction {
			name, took = name+", without building the vocabulary", took-s.vocabulary
		}
		b.bar(name, max(0, ratio(took, s.empty)), 3)
		b.bar(f.name+": remote calls that follow each other at start", float64(f.waves), 1)
	}
}
