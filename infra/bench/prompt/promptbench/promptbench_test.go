package promptbench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/prompt/promptbench"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/prompt"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestRunMeasuresEveryRecipeAndLength(t *testing.T) {
	t.Parallel()
	s := promptbench.Settings{
		Lengths: []int{100, 150}, Repeats: 2, Warmups: 2, Turns: 1, Day: 8,
		Prices: promptbench.Prices{Input: 0.1, Cached: 0.01},
		Latency: promptbench.Latencies{
			DynamoDB: time.Millisecond, Embedding: 20 * time.Millisecond, Pinecone: 10 * time.Millisecond,
		},
	}
	r, err := promptbench.Run(t.Context(), dynamodbtest.Endpoint(t), dynamodbtest.TableName(t), s, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Walls) != len(prompt.Recipes) || len(r.CPUs) != len(prompt.Recipes) || len(r.Growth) != 2 {
		t.Fatalf("%d and %d recipes, %d lengths", len(r.Walls), len(r.CPUs), len(r.Growth))
	}
	for _, w := range r.Walls {
		if w.Recipe == prompt.Unified && (w.Critical < 31*time.Millisecond || w.Calls < 7 || w.Depth < 3) {
			t.Errorf("the chain of embedding, index and records: %+v", w)
		}
		if w.Median < w.Critical || w.RatioMedian < 1 || w.RatioP99 < w.RatioMedian {
			t.Errorf("%+v", w)
		}
	}
	for _, e := range r.CPUs {
		if e.Recipe == prompt.TieredHistory && (e.Characters < 110_000 || e.Tokens < 15_000) {
			t.Errorf("the history is short: %+v", e)
		}
		if e.FromRecords.Time <= 0 || e.WithDecoding.Time <= e.FromRecords.Time || e.FromRecords.Allocations == 0 ||
			e.WithDecoding.Bytes <= e.FromRecords.Bytes {
			t.Errorf("%+v", e)
		}
	}
	for i, g := range r.Growth {
		if g.Messages != s.Lengths[i] || g.Calls < 5 || g.OtherCalls != 2 || g.ReadUnits <= 0 ||
			g.Median < 31*time.Millisecond || g.Instant <= g.InstantCalls || g.InstantCalls <= 0 {
			t.Errorf("%+v", g)
		}
	}
	checkChat(t, r.Chat)
	checkReuse(t, r.Reuse)
	text := ""
	for _, table := range r.Tables() {
		text += table.Markdown()
	}
	for _, want := range []string{"unified", "| 150"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// checkReuse compares the layouts over the turns of a day's first sitting.
func checkReuse(t *testing.T, all []promptbench.Reuse) {
	t.Helper()
	if len(all) != 6 {
		t.Fatalf("%d layouts and budgets", len(all))
	}
	for i := 0; i < len(all); i += 2 {
		first, filled := all[i], all[i+1]
		if filled.Budget != first.Budget || filled.Tokens < first.Tokens || filled.Median > first.Median {
			t.Errorf("cache first %+v\nfilled %+v", first, filled)
		}
		if first.Median < 0.4 || first.Earlier < first.Median || first.Cost >= first.Uncached || len(first.Turns) != 8 {
			t.Errorf("cache first %+v", first)
		}
	}
}

// checkChat compares a turn with what is known of it. A write, the prompt's invocation, the query's embedding, the
// index query, the read of the hits and the model follow each other, and two messages are indexed together after the
// turn.
func checkChat(t *testing.T, c promptbench.Chat) {
	t.Helper()
	if c.Turns != 1 || c.Instances != 2 || c.Calls != 13 || c.Depth != 5 || len(c.Steps) != c.Calls || c.First != 14 ||
		c.FirstDepth != 6 || c.FirstToken.RatioMedian < 1 {
		t.Errorf("a turn: %+v", c)
	}
	want := []promptbench.Follower{
		{promptbench.Operation{Function: "remember", Service: "DynamoDB", Call: "BatchGetItem"}, 1},
		{promptbench.Operation{Function: "remember", Service: "DynamoDB", Call: "Query"}, 1},
		{promptbench.Operation{Function: "remember", Service: "DynamoDB", Call: "UpdateItem"}, 1},
		{promptbench.Operation{Function: "remember", Service: "OpenAI", Call: "embeddings"}, 1},
		{promptbench.Operation{Function: "remember", Service: "Pinecone", Call: "Upsert"}, 1},
	}
	if diff := cmp.Diff(want, c.Followers); diff != "" || c.After != 5 {
		t.Errorf("%v after a turn (-want +got):\n%s", c.After, diff)
	}
}

func TestStartsAreMeasuredAndCounted(t *testing.T) {
	starts, err := promptbench.MeasureStarts(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for _, s := range starts.Functions {
		calls[s.Function] = s.Calls
		if s.Waves > 1 || s.Median <= 0 || s.Bytes == 0 {
			t.Errorf("%+v", s)
		}
	}
	if starts.Empty <= 0 || starts.Vocabulary <= 0 {
		t.Errorf("the empty function: %v, the vocabulary: %v", starts.Empty, starts.Vocabulary)
	}
	// coach and mcp check tokens themselves. They ask the issuer for its keys and for where they are, at the same time.
	want := map[string]int{
		"coach": 2, "context": 0, "mcp": 2, "messages": 0, "migrate": 0, "prompt": 0, "remember": 0, "summarize": 0,
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}

func TestRunRefusesInvalidSettings(t *testing.T) {
	for _, s := range []promptbench.Settings{{Repeats: 1}, {Lengths: []int{99}, Repeats: 1}, {Lengths: []int{100}}} {
		if _, err := promptbench.Run(t.Context(), "", "", s, func(string) {}); err == nil {
			t.Errorf("%+v is measured", s)
		}
	}
}

// heldResult returns a result that is at the limit of every bar.
func heldResult() promptbench.Result {
	usage := func(d time.Duration) promptbench.Usage { return promptbench.Usage{Time: d} }
	return promptbench.Result{
		Walls: []promptbench.Wall{
			{Recipe: prompt.Unified, Times: promptbench.Times{RatioMedian: 1.05, RatioP99: 1.2}},
			{Recipe: "other", Times: promptbench.Times{RatioMedian: 3}},
		},
		CPUs: []promptbench.CPU{{
			Recipe: prompt.TieredHistory, FromRecords: usage(20), Counting: usage(100), WithDecoding: usage(150),
			BareDecoding: usage(100),
		}, {Recipe: "other", FromRecords: usage(9), Counting: usage(1), WithDecoding: usage(9), BareDecoding: usage(1)}},
		Growth: []promptbench.Growth{
			{Messages: 100, Calls: 7, ReadUnits: 100, Median: 100},
			{Messages: 1000, Calls: 7, ReadUnits: 110, Median: 110},
		},
		Reuse: []promptbench.Reuse{
			{Layout: "by how often it changes", Budget: 2000},
			{Layout: "by how often it changes", Budget: 4000, Median: 0.75, Across: 0.6},
		},
		Chat: promptbench.Chat{Turns: 20, Calls: 13, Depth: 5, First: 14, FirstDepth: 6, After: 6},
		Starts: promptbench.Starts{Empty: 10, Vocabulary: 20, Functions: []promptbench.Start{
			{Function: "coach", Median: 30, Calls: 2, Waves: 1}, {Function: "prompt", Median: 50, Calls: 2, Waves: 1},
		}},
	}
}

func TestBarsFindWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*promptbench.Result)
		missed string
	}{
		"none": {
			func(r *promptbench.Result) {},
			"",
		},
		"median": {
			func(r *promptbench.Result) { r.Walls[0].RatioMedian = 1.06 },
			"unified: wall time over its critical path, median",
		},
		"p99": {
			func(r *promptbench.Result) { r.Walls[0].RatioP99 = 1.21 },
			"unified: wall time over its critical path, p99",
		},
		"records": {
			func(r *promptbench.Result) { r.CPUs[0].FromRecords.Time = 21 },
			"tiered-history: own CPU from decoded records over counting the text's tokens",
		},
		"slow decoding": {
			func(r *promptbench.Result) { r.CPUs[0].WithDecoding.Time = 151 },
			"tiered-history: own CPU with decoding over the SDK's bare decoding",
		},
		"calls": {
			func(r *promptbench.Result) { r.Growth[1].OtherCalls = 1 },
			"1,000 messages over 100: remote calls",
		},
		"units": {
			func(r *promptbench.Result) { r.Growth[1].ReadUnits = 111 },
			"1,000 messages over 100: read units",
		},
		"time": {
			func(r *promptbench.Result) { r.Growth[1].Median = 111 },
			"1,000 messages over 100: time",
		},
		"start": {
			func(r *promptbench.Result) { r.Starts.Functions[0].Median = 31 },
			"coach: start to ready over an empty function's",
		},
		"start of prompt": {
			func(r *promptbench.Result) { r.Starts.Functions[1].Median = 51 },
			"prompt: start to ready over an empty function's, without building the vocabulary",
		},
		"waves": {
			func(r *promptbench.Result) { r.Starts.Functions[1].Waves = 2 },
			"prompt: remote calls that follow each other at start",
		},
		"turn": {
			func(r *promptbench.Result) { r.Chat.Calls = 14 },
			"chat: remote calls of a turn until done, most",
		},
		"deep": {
			func(r *promptbench.Result) { r.Chat.Depth = 6 },
			"chat: deep before the first token, most",
		},
		"after": {
			func(r *promptbench.Result) { r.Chat.After = 6.05 },
			"chat: remote calls after a turn, mean",
		},
		"reuse": {
			func(r *promptbench.Result) { r.Reuse[1].Median = 0.74 },
			"a day's chat: share of a prompt that the turn before did not begin with, median",
		},
		"reuse across a summary": {
			func(r *promptbench.Result) { r.Reuse[1].Across = 0.59 },
			"a day's chat: the same across a summary or an extraction, median",
		},
		"no chat": {
			func(r *promptbench.Result) { r.Chat = promptbench.Chat{Calls: 14} },
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := heldResult()
			c.change(&r)
			if missed := strings.Join(report.Missed(r.Bars()), "; "); missed != c.missed {
				t.Errorf("missed %q, want %q", missed, c.missed)
			}
		})
	}
}
