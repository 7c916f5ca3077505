package promptbench

import (
	"fmt"
	"strconv"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
)

// Tables returns the tables of what was measured.
func (r Result) Tables() []report.Titled {
	tables := []report.Titled{r.wallTable(), r.cpuTable(), r.memoryTable(), r.growthTable()}
	if r.Chat.Turns > 0 {
		tables = append(tables, r.Chat.serviceTable(), r.Chat.stepTable(), r.Chat.followerTable(),
			r.Chat.firstTokenTable())
	}
	if len(r.Reuse) > 0 {
		tables = append(tables, r.reuseTable())
	}
	if len(r.Starts.Functions) > 0 {
		tables = append(tables, r.Starts.table())
	}
	return tables
}

func (r Result) wallTable() report.Titled {
	t := report.NewTitled("Wall time over the critical path",
		"recipe", "remote calls", "deep", "critical path, ms", "wall time, ms", "ratio p50", "ratio p99")
	for _, w := range r.Walls {
		t.Add(w.Recipe, strconv.Itoa(w.Calls), strconv.Itoa(w.Depth), ms(w.Critical), ms(w.Median),
			ratio(w.RatioMedian), ratio(w.RatioP99))
	}
	return t
}

func (r Result) cpuTable() report.Titled {
	t := report.NewTitled("Own CPU time per prompt, 120,000 characters of history stored",
		"recipe", "tokens", "characters", "from records, ms", "counting, ms", "ratio",
		"with decoding, ms", "bare decoding, ms", "ratio")
	for _, c := range r.CPUs {
		t.Add(c.Recipe, count(c.Tokens), count(c.Characters),
			ms(c.FromRecords.Time), ms(c.Counting.Time), ratio(c.recordsRatio()),
			ms(c.WithDecoding.Time), ms(c.BareDecoding.Time), ratio(c.decodingRatio()))
	}
	return t
}

func (r Result) memoryTable() report.Titled {
	t := report.NewTitled("Memory allocated per prompt",
		"recipe", "from records, allocations", "KB", "with decoding, allocations", "KB", "bare decoding, allocations", "KB")
	for _, c := range r.CPUs {
		cells := []string{c.Recipe}
		for _, u := range []Usage{c.FromRecords, c.WithDecoding, c.BareDecoding} {
			cells = append(cells, count(u.Allocations), kilobytes(u.Bytes))
		}
		t.Add(cells...)
	}
	return t
}

func (r Result) growthTable() report.Titled {
	t := report.NewTitled("A unified prompt over the length of the history",
		"stored messages", "DynamoDB calls", "other calls", "read units", "time, ms",
		"without latencies, ms", "of it calls, ms")
	for _, g := range r.Growth {
		t.Add(count(g.Messages), strconv.Itoa(g.Calls), strconv.Itoa(g.OtherCalls),
			strconv.FormatFloat(g.ReadUnits, 'f', 1, 64), ms(g.Median), ms(g.Instant), ms(g.InstantCalls))
	}
	return t
}

func (c Chat) serviceTable() report.Titled {
	t := report.NewTitled(fmt.Sprintf("Remote calls of a turn of a chat, the most and the means of %d turns", c.Turns),
		"service", "until done", "after it")
	for _, service := range []string{toDynamoDB, toOpenAI, toPinecone, toLambda} {
		steps, after := c.callsOf(service)
		t.Add(service, strconv.Itoa(steps), mean(after))
	}
	t.Add("all", strconv.Itoa(c.Calls), mean(c.After))
	t.Add("all of the session's first turn", strconv.Itoa(c.First))
	t.Add("deep before the first token", strconv.Itoa(c.Depth))
	t.Add("deep in the session's first turn", strconv.Itoa(c.FirstDepth))
	return t
}

func (c Chat) stepTable() report.Titled {
	t := report.NewTitled("The calls of a turn, in their order", "call", "deep")
	for _, s := range c.Steps {
		t.Add(s.String(), strconv.Itoa(s.Depth))
	}
	return t
}

func (c Chat) followerTable() report.Titled {
	title := fmt.Sprintf("The calls after a turn, with %d instances of each function", c.Instances)
	t := report.NewTitled(title, "call", "mean")
	for _, f := range c.Followers {
		t.Add(f.String(), mean(f.Mean))
	}
	return t
}

func (c Chat) firstTokenTable() report.Titled {
	f := c.FirstToken
	t := report.NewTitled("The time to a turn's first token over the model's own",
		"turns", "critical path, ms", "time, ms", "ratio p50", "ratio p99")
	t.Add(strconv.Itoa(c.Turns), ms(f.Critical), ms(f.Median), ratio(f.RatioMedian), ratio(f.RatioP99))
	return t
}

func (r Result) reuseTable() report.Titled {
	t := report.NewTitled(fmt.Sprintf("What a provider's cache can reuse of a day's chat of %d turns", r.Settings.Day),
		"layout, budget", "tokens", "as the turn before, %", "as an earlier turn, %", "across a summary or extraction, %",
		"least of these, %", "across a new spine, %", "1,000 chats, $", "without cache, $")
	for _, u := range r.Reuse {
		t.Add(fmt.Sprintf("%s, %s", u.Layout, count(u.Budget)), count(u.Tokens), percent(u.Median), percent(u.Earlier),
			percent(u.Across), percent(u.Least), percent(u.Rewritten), mean(u.Cost), mean(u.Uncached))
	}
	return t
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }

func (s Starts) table() report.Titled {
	t := report.NewTitled("From the start of a function's process to its first request for an invocation",
		"function", "binary, KB", "median, ms", "least, ms", "over the empty one", "remote calls", "deep")
	t.Add("an empty function", "", ms(s.Empty), "", ratio(1))
	t.Add("building the vocabulary", "", ms(s.Vocabulary), "", ratio(s.overEmpty(s.Vocabulary)))
	for _, f := range s.Functions {
		t.Add(f.Function, kilobytes(f.Bytes), ms(f.Median), ms(f.Least), ratio(s.overEmpty(f.Median)),
			strconv.Itoa(f.Calls), strconv.Itoa(f.Waves))
	}
	return t
}

func ms(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64)
}

func ratio(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

func mean(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func count[N int | uint64](n N) string { return report.Thousands(float64(n)) }

func kilobytes[N int64 | uint64](bytes N) string { return report.Thousands(float64(bytes / 1000)) }

// Note says how much was measured, and the latencies of the services.
func (r Result) Note() string {
	l := r.Settings.Latency
	return fmt.Sprintf("DynamoDB Local, the local Pinecone and the offline model; %d repeats, %d starts. No service "+
		"answers before its latency has passed: DynamoDB %s, the embedding %s, Pinecone %s, an invocation %s, the chat "+
		"model %s", r.Settings.Repeats, r.Settings.Starts, l.DynamoDB, l.Embedding, l.Pinecone, l.Lambda, l.Model)
}
