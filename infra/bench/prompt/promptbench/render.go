package promptbench

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
)

// titled is one table under its title.
type titled struct {
	title string
	report.Table
}

func (o Result) tables() []titled {
	tables := []titled{o.wallTable(), o.effortTable(), o.growthTable()}
	if o.Chat.Turns > 0 {
		tables = append(tables, o.Chat.serviceTable(), o.Chat.stepTable(), o.Chat.followerTable())
	}
	return append(tables, o.startTable(), o.tokenTable(), o.barTable())
}

func (o Result) wallTable() titled {
	t := titled{"Wall time over the critical path", report.Table{Header: []string{
		"recipe", "remote calls", "deep", "critical path, ms", "wall time, ms", "ratio p50", "ratio p99",
	}}}
	for _, w := range o.Walls {
		t.Add(w.Recipe, strconv.Itoa(w.Calls), strconv.Itoa(w.Depth), ms(w.Critical), ms(w.Median), ratio(w.RatioMedian), ratio(w.RatioP99))
	}
	return t
}

func (o Result) effortTable() titled {
	t := titled{"Own CPU and memory per prompt, 120,000 characters of history stored", report.Table{Header: []string{
		"recipe", "tokens", "characters", "from records, ms", "allocations", "KB", "with decoding, ms", "allocations", "KB",
	}}}
	for _, e := range o.Efforts {
		t.Add(e.Recipe, count(e.Tokens), count(e.Characters), ms(e.Records), count(e.Allocations), kilobytes(e.Bytes),
			ms(e.Decoding), count(e.DecodingAllocations), kilobytes(e.DecodingBytes))
	}
	return t
}

func (o Result) growthTable() titled {
	t := titled{"A unified prompt over the length of the history", report.Table{Header: []string{
		"stored messages", "DynamoDB calls", "other calls", "read units", "time, ms", "without latencies, ms", "of it calls, ms",
	}}}
	for _, g := range o.Growth {
		t.Add(count(g.Messages), strconv.Itoa(g.Calls), strconv.Itoa(g.OtherCalls), strconv.FormatFloat(g.ReadUnits, 'f', 1, 64), ms(g.Median), ms(g.Idle), ms(g.IdleCalls))
	}
	return t
}

func (o Result) startTable() titled {
	t := titled{"From the start of a function's process to its first request for an invocation", report.Table{Header: []string{
		"function", "binary, KB", "median, ms", "least, ms", "remote calls", "deep",
	}}}
	for _, s := range o.Starts {
		t.Add(s.Function, kilobytes(s.Bytes), ms(s.Median), ms(s.Least), strconv.Itoa(s.Calls), strconv.Itoa(s.Waves))
	}
	return t
}

func (o Result) tokenTable() titled {
	t := titled{"The tokenizer (o200k)", report.Table{Header: []string{"", "ms"}}}
	t.Add("building the vocabulary", ms(o.Tokenizer.Start))
	t.Add(fmt.Sprintf("counting %s characters, %s tokens", count(o.Tokenizer.Characters), count(o.Tokenizer.Tokens)), ms(o.Tokenizer.Count))
	return t
}

func (o Result) barTable() titled {
	t := titled{"What has to hold", report.Table{Header: []string{"has to hold", "measured", "at most", ""}}}
	for _, b := range o.Bars() {
		held := "held"
		if !b.Held() {
			held = "NOT HELD"
		}
		t.Add(b.Name, strings.TrimSpace(ratio(b.Value)+" "+b.Unit), strings.TrimSpace(strconv.FormatFloat(b.Limit, 'f', -1, 64)+" "+b.Unit), held)
	}
	return t
}

func ms(d time.Duration) string { return strconv.FormatFloat(milliseconds(d), 'f', 2, 64) }

func ratio(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

func count[N int | uint64](n N) string { return report.Thousands(float64(n)) }

func kilobytes[N int64 | uint64](bytes N) string { return report.Thousands(float64(bytes / 1000)) }

// Text is the result for a terminal.
func (o Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, DynamoDB Local; %d repeats\n", o.Machine, o.Settings.Repeats)
	for _, t := range o.tables() {
		fmt.Fprintf(&b, "\n%s\n%s", t.title, t.Text())
	}
	return b.String()
}

// Markdown is the result as a section of a document.
func (o Result) Markdown() string {
	l := o.Settings.Latency
	var b strings.Builder
	fmt.Fprintf(&b, "## Prompts\n\nMeasured on %s by `make bench-prompt`: %s; DynamoDB Local, the local Pinecone and the offline model; "+
		"%d repeats, %d starts.\n\n", o.Date, o.Machine, o.Settings.Repeats, o.Settings.Starts)
	fmt.Fprintf(&b, explanation, l.DynamoDB, l.Embedding, l.Pinecone, hop, answering)
	for _, t := range o.tables() {
		fmt.Fprintf(&b, "\n**%s**\n\n%s", t.title, t.Markdown())
	}
	return b.String()
}

const explanation = `No service answers before its latency has passed: DynamoDB %s, the embedding %s, Pinecone %s. The user of the first two
tables has 480 messages of about 250 characters today; prompts are built as in a chat, where their manifests are kept
while the model generates.

- **Critical path**: the slowest chain of remote calls of the same prompt, by the clock, from each request's first byte
  to its answer's last; a call can follow on another when it began after that one had ended. Signing, encoding and
  decoding are not in it, but for gRPC's. The ratios are of single prompts.
- **Own CPU** is that of the whole process, the garbage collector's included, which is set as in the functions
  (TuneCollector), as the median over batches of ten prompts:
  **from records** answers every read with decoded records; **with decoding** answers every request with the bytes of
  DynamoDB's answer, so that signing, encoding and decoding are in it and the network is not.
- **The length of the history**: the newest 100 messages are in 20 sessions of 5, what lies before them in sessions of
  50. The lengths take turns. The local index compares a query with every vector, which Pinecone does not, so it is
  asked once and its answer repeated; nor does DynamoDB read a long partition to answer a query of its end, as DynamoDB
  Local does: without latencies its own calls grow, and the table says by how much. Capacity is computed from the
  items, by AWS's documented rules.
- **A turn of a chat** is POST /v1/chat on the local stack: its gateway, its Lambda API, its stream. The calls until it is
  done are the coach function's and those of the prompt function; a call is one deeper than the deepest that had ended
  before it began, as time tells it where every service takes %s, and what the prompt function calls is deeper than the
  call that invokes it. The calls behind it are those of the stream's functions, which have the user's message before the
  answer: the model takes %s. Functions are warm; a session's first turn, before which the coach has not read the
  session's record, counts for itself. The sweep is not in it: it comes by the clock.
- **Starts** are those of the binaries that Lambda gets, built for this machine; secrets are in the environment, so that the
  one call which reads them is not among the remote calls.
`
