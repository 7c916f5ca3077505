package forecast

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/bench/report"
)

// heading is the text before the tables.
const heading = `# Scale

What a number of users comes to, and what gives way first. ` + "`make bench-scale`" + ` writes this page from three
files, and a test fails when the page and the files differ:

- [units.json](scale/units.json): what one session uses, measured on %s. Whole sessions were played on the local
  stack: %d turns each, %d sessions after %d others of the same user. A proxy between each function and each service
  counted. Capacity of transactions is computed from the records before and after, by AWS's documented rules; that
  of single calls is the engine's. Nothing of it depends on the clock.
- [workload.json](scale/workload.json): what is assumed.
- [prices.json](scale/prices.json): list prices in us-east-1, each with its source and its date.

It is a forecast, not a measurement in AWS: no free tier, no discount, no load test. Durations are assumptions, and with
them Lambda's part and every number of concurrent executions.

## The assumptions

`

// Markdown writes the document.
func (in Input) Markdown() string {
	sizes := make([]Size, len(in.Workload.Users))
	for i, n := range in.Workload.Users {
		sizes[i] = in.Size(n)
	}
	var b strings.Builder
	u := in.Units
	fmt.Fprintf(&b, heading, u.Date, u.Settings.Turns, u.Settings.Sessions, u.Settings.History)
	b.WriteString(in.assumptions())
	b.WriteString("\n## One session\n\nMeans, by function.\n\n" + in.units())
	b.WriteString("\n## A user's day\n\n" + in.dayText())
	b.WriteString("\n## What it comes to\n\nA month, unless a row says otherwise. The peak is the busiest hour's mean.\n")
	b.WriteString("\n")
	b.WriteString(amounts(sizes))
	b.WriteString("\n## Money\n\nUS dollars a month, at list prices.\n\n" + money(sizes))
	b.WriteString("\n## What gives way first\n\n" + in.limits(sizes))
	b.WriteString("\n## Managed services for the same work\n\n" + in.peers(sizes))
	b.WriteString("\n## Prices\n\n" + in.prices())
	return b.String()
}

func (in Input) assumptions() string {
	w := in.Workload
	var b strings.Builder
	for _, line := range []string{
		fmt.Sprintf("%g sessions a user and day, of %d turns (a question and its answer)", w.SessionsPerUserAndDay,
			w.TurnsPerSession),
		fmt.Sprintf("%.0f%% of a day in its busiest hour; months of %.0f days", 100*w.PeakHourShare, w.DaysPerMonth),
		fmt.Sprintf("%g stored messages a user", w.StoredMessagesPerUser),
		fmt.Sprintf("every turn meets an instance that does not know the session: %g call and %g read units more than "+
			"measured", w.ColdCallsPerTurn, w.ColdReadUnitsPerTurn),
		fmt.Sprintf("%.0f%% of sessions are left without a word, and fall due for the sweep", 100*w.IdleShare),
		fmt.Sprintf("answers of %g tokens; %.0f%% of input tokens are cached by the provider (75%% of a prompt is the "+
			"prefix of the turn before, and caches forget)", w.OutputTokensPerAnswer, 100*w.CachedInputShare),
		fmt.Sprintf("the chat's model reasons %g tokens for an answer, and the background's %g for a call, which are billed "+
			"and not seen: nobody but the model knows them before, and effort, model and question change them",
			w.ReasoningTokensPerAnswer, w.ReasoningTokensPerCall),
		fmt.Sprintf("%.0f%% of the input tokens that are not cached are written to the provider's cache, at its price for "+
			"that", 100*w.CacheWriteShare),
		fmt.Sprintf("logs are kept for %g months; the stage has %g metrics of its own, %g of the HTTP API's routes in use, "+
			"and alarms on %g metrics", w.LogMonths, w.Metrics, w.RouteMetrics, w.AlarmMetrics),
		fmt.Sprintf("dense vectors of %g dimensions", w.DenseDimensions),
		fmt.Sprintf("beside its turns an app reads %g times a session, %g read units and %g KB in all",
			w.Reads.CallsPerSession, w.Reads.ReadUnitsPerSession, w.Reads.BytesPerSession/1000),
	} {
		b.WriteString("- " + line + ".\n")
	}
	var seconds []string
	for _, name := range slices.Sorted(maps.Keys(w.Functions)) {
		f := w.Functions[name]
		seconds = append(seconds, fmt.Sprintf("%s %g s + %.1f ms", name, f.WaitSeconds, 1000*(f.Seconds()-f.WaitSeconds)))
	}
	b.WriteString("- An invocation waits, as assumed, and computes, as measured and by the function's memory: " +
		strings.Join(seconds, ", ") + ".\n" + streamNote)
	return b.String()
}

// streamNote says how the invocations of the stream's functions are to be read.
const streamNote = `- summarize is invoked for those changes of a session that may ask for something: the filter
  of the stream drops the others. One in a session waits for the model, some seconds. Its seconds above are the mean.
- remember's seconds are those of a batch with the few records of one turn. A full batch of 200 records takes about
  1.6 s, by the sum in [ADR 0013](adr/0013-one-batch-of-a-shard.md). Neither is measured in AWS.
- The invocations of summarize and remember are those of one user alone. With many users a batch has records of several,
  so their numbers are upper bounds.
`

// units renders the measured use of each function.
func (in Input) units() string {
	t := report.Table{Header: []string{
		"function", "DynamoDB calls", "read units", "write units", "model calls", "input tokens", "embeddings",
		"index queries", "vectors", "invocations",
	}}
	for _, name := range slices.Sorted(maps.Keys(in.Units.Session)) {
		u := in.Units.Session[name]
		t.Add(name, one(u.DynamoDBCalls), one(u.ReadUnits), one(u.WriteUnits), one(u.ModelCalls), one(u.InputTokens),
			one(u.EmbeddingCalls), one(u.IndexQueries), one(u.Vectors), one(u.Invocations))
	}
	return t.Markdown() + fmt.Sprintf("\nA session leaves %s bytes in the table and %s in its indexes, in %s records.\n",
		report.Thousands(math.Round(in.Units.TableBytes)), report.Thousands(math.Round(in.Units.IndexBytes)),
		one(in.Units.Records))
}

// row is a row of a table over the sizes.
type row struct {
	name  string
	value func(Size) float64
}

var amountRows = []row{
	{"sessions a day", func(s Size) float64 { return s.SessionsPerDay }},
	{"turns", func(s Size) float64 { return s.Turns }},
	{"turns a second, peak", func(s Size) float64 { return s.PeakTurns }},
	{"messages stored", func(s Size) float64 { return s.StoredMessages }},
	{"DynamoDB calls", func(s Size) float64 { return s.Calls }},
	{"write units", func(s Size) float64 { return s.WriteUnits }},
	{"write units a second, peak", func(s Size) float64 { return s.PeakWrites }},
	{"read units", func(s Size) float64 { return s.ReadUnits }},
	{"read units a second, peak", func(s Size) float64 { return s.PeakReads }},
	{"table with indexes, GB", func(s Size) float64 { return s.TableGB }},
	{"stream shards at the peak, about", Size.shards},
	{"Lambda invocations", func(s Size) float64 { return s.Invocations }},
	{"Lambda GB-seconds", func(s Size) float64 { return s.GBSeconds }},
	{"executions at once, peak", func(s Size) float64 { return s.Concurrency }},
	{"of these coach", func(s Size) float64 { return s.CoachConcurrency }},
	{"of these prompt", func(s Size) float64 { return s.PromptConcurrency }},
	{"of these summarize", func(s Size) float64 { return s.SummarizeConcurrency }},
	{"of these remember", func(s Size) float64 { return s.RememberConcurrency }},
	{"HTTP API requests", func(s Size) float64 { return s.APICalls }},
	{"Pinecone namespaces", func(s Size) float64 { return s.Namespaces }},
	{"vectors", func(s Size) float64 { return s.Vectors }},
	{"vectors, GB", func(s Size) float64 { return s.VectorGB }},
	{"Pinecone read units", func(s Size) float64 { return s.IndexReads }},
	{"Pinecone write units", func(s Size) float64 { return s.IndexWrites }},
	{"model input tokens", func(s Size) float64 { return s.InputTokens }},
	{"model output tokens", func(s Size) float64 { return s.OutputTokens }},
	{"model tokens a minute, peak", func(s Size) float64 { return s.PeakTokens }},
	{"embedding tokens", func(s Size) float64 { return s.EmbedTokens }},
	{"logs, GB", func(s Size) float64 { return s.LogGB }},
	{"data to the internet, GB", func(s Size) float64 { return s.EgressGB }},
}

// shards is about how many shards the table's stream has: one for each partition, of 1,000 write units a second or 10
// GB.
func (s Size) shards() float64 {
	return math.Ceil(max(1, s.PeakWrites/writesPerPartition, s.TableGB/10))
}

func amounts(sizes []Size) string {
	t := report.Table{Header: header("", sizes)}
	for _, r := range amountRows {
		cells := []string{r.name}
		for _, s := range sizes {
			cells = append(cells, short(r.value(s)))
		}
		t.Add(cells...)
	}
	return t.Markdown()
}

func header(first string, sizes []Size) []string {
	out := []string{first}
	for _, s := range sizes {
		out = append(out, report.Thousands(s.Users)+" users")
	}
	return out
}

func money(sizes []Size) string {
	t := report.Table{Header: header("part", sizes)}
	for i, c := range sizes[0].Money {
		cells := []string{c.Part}
		for _, s := range sizes {
			cells = append(cells, dollars(s.Money[i].USD))
		}
		t.Add(cells...)
	}
	total, each := []string{"**all**"}, []string{"a user and month"}
	for _, s := range sizes {
		total, each = append(total, "**"+dollars(s.Total())+"**"), append(each, fmt.Sprintf("%.4f", s.Total()/s.Users))
	}
	t.Add(total...)
	t.Add(each...)
	return t.Markdown()
}

// limits renders, for each size, the limits that it passes or comes near to.
func (in Input) limits(sizes []Size) string {
	var b strings.Builder
	for _, s := range sizes {
		fmt.Fprintf(&b, "### %s users\n\n", report.Thousands(s.Users))
		t := report.Table{Header: []string{"limit", "bound", "use at the peak", "taken", "reached at, users"}}
		all := in.Limits(s)
		for _, l := range all {
			t.Add(l.Name, report.Thousands(l.Bound)+" "+l.Unit, short(l.Use), percent(l.Share()), short(l.Users(s)))
		}
		b.WriteString(t.Markdown())
		b.WriteString("\n" + verdict(s, all) + "\n\n")
	}
	b.WriteString("What moves each of them:\n\n")
	for _, l := range in.Limits(sizes[0]) {
		fmt.Fprintf(&b, "- %s: %s.\n", l.Name, l.Moves)
	}
	fmt.Fprintf(&b, `
What does not grow with the users:

- One user's partition bears %d write units a second: about %s turns a second of one user. Conversations stay far below;
  an import of one user's history is held to that rate by DynamoDB's throttling, and retries.
- Both places for readers of each stream shard are taken, by summarize and remember. Nothing moves that; other consumers
  read Kinesis Data Streams for DynamoDB.
- An invocation takes 6 MB in and out. A body has at most 3 MiB and a page 1 MiB, so neither is near it.
- An item has at most 400 KB, and a transaction at most 100 items and 4 MB: 50 messages of one call are far below.
- Pinecone takes 50 MB a second of upserts, and 100 calls a second of each kind, for each namespace: with a namespace
  for each user no user comes near. Shared namespaces take all their users' calls together: at the peak divide the turns
  a second above by the number of namespaces.
- OpenAI's tokens a minute depend on the account's tier and on the model, and are not published as one number for all:
  compare the row "model tokens a minute, peak" with the limits page of the account. Another account or a compatible
  service is `+"`OpenAIBaseUrl`"+`, a cheaper one for summaries `+"`OpenAIBackgroundModel`"+`.
`, partitionWrites, one(sizes[0].HotTurns))
	return b.String()
}

// verdict says in one sentence what gives way first, and what the size has passed.
func verdict(s Size, limits []Limit) string {
	first := limits[0]
	var passed []string
	for _, l := range limits {
		if l.Share() >= 1 {
			passed = append(passed, l.Name)
		}
	}
	if len(passed) == 0 {
		return fmt.Sprintf("Nothing gives way. The first would be: %s, at %s users.", first.Name, short(first.Users(s)))
	}
	return "To be moved before this size, in this order: " + strings.Join(passed, "; ") + "."
}

func (in Input) peers(sizes []Size) string {
	t := report.Table{Header: header("US dollars a month, list prices", sizes)}
	ours, infra := []string{"Throughline, all of the above"}, []string{"Throughline without model tokens"}
	for _, s := range sizes {
		without := s.Total()
		for _, c := range s.Money {
			if strings.HasPrefix(c.Part, "OpenAI") {
				without -= c.USD
			}
		}
		ours, infra = append(ours, dollars(s.Total())), append(infra, dollars(without))
	}
	t.Add(ours...)
	t.Add(infra...)
	var notes strings.Builder
	for _, p := range in.Prices.Peers {
		cells := []string{p.Name}
		for _, s := range sizes {
			price := "not listed"
			if p.Unit != "" {
				price = dollars(p.usd(s))
			}
			cells = append(cells, price)
		}
		t.Add(cells...)
		fmt.Fprintf(&notes, "- %s: %s. Source: %s (%s).\n", p.Name, p.listed(), p.Source, p.Date)
	}
	return t.Markdown() + peersNote + notes.String()
}

// peersNote says what the table of the peers compares.
const peersNote = `
For the same conversations: one event for each turn, one stored record for each session, one retrieval for each turn,
one agent for each user, and the tokens that Throughline embeds. The prices of these services have neither the tokens
of the chat's answers in them nor the functions around them. "Not listed" means that no sum can be made of what the
service lists; its line below says why.

`

// usd is what a peer lists for the month of a size. A service without a unit lists nothing that can be added up.
func (p Peer) usd(s Size) float64 {
	records := s.StoredMessages / (2 * s.Turns / s.Sessions)
	return p.PerMonth + s.Turns/1000*(p.PerThousandEvents+p.PerThousandRetrievals) +
		records/1000*p.PerThousandRecordsAndMonth + s.Users*p.PerActiveUserAndMonth +
		s.EmbedTokens/million*p.PerMillionTokens
}

// listed names a peer's prices.
func (p Peer) listed() string {
	switch {
	case p.Unit == "":
		return p.Note
	case p.PerMillionTokens > 0:
		return fmt.Sprintf("%.2f for a million tokens, %.3f for 1,000 retrievals; %s", p.PerMillionTokens,
			p.PerThousandRetrievals, p.Note)
	case p.PerThousandEvents > 0:
		return fmt.Sprintf("%.2f for 1,000 events, %.2f for 1,000 stored records a month, %.2f for 1,000 retrievals; %s",
			p.PerThousandEvents, p.PerThousandRecordsAndMonth, p.PerThousandRetrievals, p.Note)
	}
	return fmt.Sprintf("%.0f a month and %.2f for each %s; %s", p.PerMonth, p.PerActiveUserAndMonth, p.Unit, p.Note)
}

func (in Input) prices() string {
	t := report.Table{Header: []string{"price", "USD", "source", "of"}}
	for _, p := range in.Prices.Prices {
		t.Add(p.What, fmt.Sprintf("%g", p.USD), p.Source, p.Date)
	}
	return t.Markdown()
}

func one(v float64) string { return fmt.Sprintf("%.1f", v) }

func percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }

func dollars(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.2f", v)
	}
	return report.Thousands(math.Round(v))
}

// short writes a large number with its three leading digits.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.3g", v/unit.size) + unit.name
		}
	}
	if v < 100 {
		return fmt.Sprintf("%.2g", v)
	}
	return report.Thousands(math.Round(v))
}
