package promptbench

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
)

// titledTable is a table under its title.
type titledTable struct {
	title string
	*report.Table
}

func newTable(title string, header ...string) titledTable {
	return titledTable{title, &report.Table{Header: header}}
}

func (r Result) tables() []titledTable {
	tables := []titledTable{r.wallTable(), r.cpuTable(), r.memoryTable(), r.growthTable()}
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
	return append(tables, titledTable{"What has to hold", report.BarTable(r.Bars())})
}

func (r Result) wallTable() titledTable {
	t := newTable("Wall time over the critical path",
		"recipe", "remote calls", "deep", "critical path, ms", "wall time, ms", "ratio p50", "ratio p99")
	for _, w := range r.Walls {
		t.Add(w.Recipe, strconv.Itoa(w.Calls), strconv.Itoa(w.Depth), ms(w.Critical), ms(w.Median),
			ratio(w.RatioMedian), ratio(w.RatioP99))
	}
	return t
}

func (r Result) cpuTable() titledTable {
	t := newTable("Own CPU time per prompt, 120,000 characters of history stored",
		"recipe", "tokens", "characters", "from records, ms", "counting, ms", "ratio",
		"with decoding, ms", "bare decoding, ms", "ratio")
	for _, c := range r.CPUs {
		t.Add(c.Recipe, count(c.Tokens), count(c.Characters),
			ms(c.FromRecords.Time), ms(c.Counting.Time), ratio(c.recordsRatio()),
			ms(c.WithDecoding.Time), ms(c.BareDecoding.Time), ratio(c.decodingRatio()))
	}
	return t
}

func (r Result) memoryTable() titledTable {
	t := newTable("Memory allocated per prompt",
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

func (r Result) growthTable() titledTable {
	t := newTable("A unified prompt over the length of the history",
		"stored messages", "DynamoDB calls", "other calls", "read units", "time, ms",
		"without latencies, ms", "of it calls, ms")
	for _, g := range r.Growth {
		t.Add(count(g.Messages), strconv.Itoa(g.Calls), strconv.Itoa(g.OtherCalls),
			strconv.FormatFloat(g.ReadUnits, 'f', 1, 64), ms(g.Median), ms(g.Instant), ms(g.InstantCalls))
	}
	return t
}

func (c Chat) serviceTable() titledTable {
	t := newTable(fmt.Sprintf("Remote calls of a turn of a chat, the most and the means of %d turns", c.Turns),
		"service", "until done", "behind it")
	for _, service := range []string{toDynamoDB, toOpenAI, toPinecone, toLambda} {
		steps, behind := c.callsOf(service)
		t.Add(service, strconv.Itoa(steps), mean(behind))
	}
	t.Add("all", strconv.Itoa(c.Calls), mean(c.Behind))
	t.Add("all of the session's first turn", strconv.Itoa(c.First))
	t.Add("deep before the first token", strconv.Itoa(c.Depth))
	t.Add("deep in the session's first turn", strconv.Itoa(c.FirstDepth))
	return t
}

func (c Chat) stepTable() titledTable {
	t := newTable("The calls of a turn, in their order", "call", "deep")
	for _, s := range c.Steps {
		t.Add(s.Function+": "+s.Service+" "+s.Call, strconv.Itoa(s.Depth))
	}
	return t
}

func (c Chat) followerTable() titledTable {
	t := newTable(fmt.Sprintf("The calls behind a turn, with %d instances of each function", c.Instances), "call", "mean")
	for _, f := range c.Followers {
		t.Add(f.Function+": "+f.Service+" "+f.Call, mean(f.Mean))
	}
	return t
}

func (c Chat) firstTokenTable() titledTable {
	f := c.FirstToken
	t := newTable("The time to a turn's first token over the model's own",
		"turns", "critical path, ms", "time, ms", "ratio p50", "ratio p99")
	t.Add(strconv.Itoa(c.Turns), ms(f.Critical), ms(f.Median), ratio(f.RatioMedian), ratio(f.RatioP99))
	return t
}

func (r Result) reuseTable() titledTable {
	t := newTable(fmt.Sprintf("What a provider's cache can reuse of a day's chat of %d turns", r.Settings.Day),
		"layout, budget", "tokens", "as the turn before, %", "as an earlier turn, %", "across a summary or extraction, %",
		"least of these, %", "across a new spine, %", "1,000 chats, $", "without cache, $")
	for _, u := range r.Reuse {
		t.Add(fmt.Sprintf("%s, %s", u.Layout, count(u.Budget)), count(u.Tokens), percent(u.Median), percent(u.Earlier),
			percent(u.Across), percent(u.Least), percent(u.Rewritten), mean(u.Cost), mean(u.Uncached))
	}
	return t
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }

func (s Starts) table() titledTable {
	t := newTable("From the start of a function's process to its first request for an invocation",
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

// Text renders the result for a terminal.
func (r Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, DynamoDB Local; %d repeats\n", r.Machine, r.Settings.Repeats)
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n%s\n%s", t.title, t.Text())
	}
	return b.String()
}

// Markdown renders the result as a section of a document.
func (r Result) Markdown() string {
	l := r.Settings.Latency
	var b strings.Builder
	fmt.Fprintf(&b, "## Prompts\n\nMeasured on %s by `make bench-prompt`: %s; DynamoDB Local, the local Pinecone and the "+
		"offline model; %d repeats, %d starts.\n\n", r.Date, r.Machine, r.Settings.Repeats, r.Settings.Starts)
	fmt.Fprintf(&b, explanation, l.DynamoDB, l.Embedding, l.Pinecone, l.Lambda, l.Model, chatLatency, modelLatency,
		firstCounted)
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n**%s**\n\n%s", t.title, t.Markdown())
	}
	return b.String()
}

const explanation = `Every bar is a count or a ratio to a floor of the same run.
Times in milliseconds depend on the machine and are no bar. No service answers before its latency has passed:
DynamoDB %s, the embedding %s, Pinecone %s, an invocation %s, the chat model %s.
The user of the first three tables has 480 messages of about 250 characters
today. Prompts are built as in a chat, where the coach function saves the manifest while the model generates.

- **Critical path**: the slowest chain of remote calls of the same prompt, from each request's first byte to its
  answer's last. A call can follow another when it began after that one had ended. Signing, encoding and decoding are
  not in it, except gRPC's. The ratios are of single prompts.
- **Own CPU** is that of the whole process with the garbage collector, which is set as in the functions. The process
  has one processor meanwhile, as the prompt function has. The times are medians over batches of ten. **From records**
  answers every read with decoded records; its floor is **counting** the tokens of the same text. **With decoding**
  answers every request with the bytes of DynamoDB's answer, so that signing, encoding and decoding are in it and the
  network is not; its floor is **bare decoding**: the SDK's client decodes the same answers to requests that are
  minimal and not signed, and its attributevalue package unmarshals the items into plain structs. The bars are those
  of tiered-history, the one prompt that holds all 120,000 characters.
- **The length of the history**: the newest 100 messages are in 20 sessions of 5, the ones before in sessions of 50.
  The lengths take turns. The local index compares a query with every vector, which Pinecone does not, so it is queried
  once and its answer repeated. DynamoDB Local reads a long partition to answer a query of its end, which DynamoDB does
  not: without latencies its calls grow, and the table says by how much. Capacity is computed from the items, by AWS's
  documented rules.
- **A turn of a chat** is POST /v1/chat on the local stack: its gateway, its Lambda API, its stream. The calls until it
  is done are those of the coach function and of the prompt function. A call is one deeper than the deepest that had
  ended before it began; every service takes %s, so that the times show it. The calls of the prompt function are deeper
  than the call that invokes it. The calls behind a turn are those of the stream's functions, which have the user's
  message before the answer is there: the model takes %s. Each of them has several instances, which share nothing and
  get their batches in turn. The functions are warm. A session's first turn counts for
  itself: the coach function reads the session's record before it. The sweep is left out: it comes by the clock.
- **The time to the first token** is from the request of the same chat to its first event with text, without the chat
  model's own time. Its floor is the critical path: the slowest chain of the coach function's calls before it invokes
  the prompt function, the invocation, and the slowest chain of the prompt function's calls. The local gateway, both
  functions and the encoding of everything between them run on this machine's cores beside the local services.
- **What a provider's cache can reuse**: a user with two months of memories and fourteen earlier sessions talks to the
  coach in four sittings of a day, a minute and more between turns, and visits two other screens in between. Summaries
  of all three sessions, two extractions and a new spine come in while the chat goes on. The stores, the search and the
  prompts are the production code, with the embeddings of the offline model. The share is that of a prompt's tokens that
  are a common prefix, tools first: with the turn before, or the best of all earlier turns, as medians over turns %d and
  later. **By value** is the layout before, of this benchmark only: blocks in their order of value, and a window that
  moves by two messages each turn. The dollars are those of the input tokens of a thousand such chats, at the prices in
  docs/scale/prices.json, with the rules of OpenAI's guide: a prefix counts from 1,024 tokens on and for 30 minutes, and
  writing it costs a quarter more. A provider that matches a prefix only at breakpoints needs one behind the session's
  messages for this.
- **Starts** are those of the binaries that Lambda gets, built for this machine. Their floor is **an empty function**
  with clients of DynamoDB, Pinecone and OpenAI. The **vocabulary** is what the same empty function takes longer when
  it builds the tokenizer's vocabulary; only prompt does so at start. Secrets are in the environment, so the one call
  that reads them is not among the remote calls.
`
