package promptbench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/prompt/promptbench"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/prompt"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestTrialMeasuresEveryRecipeAndLength(t *testing.T) {
	s := promptbench.Settings{
		Lengths: []int{100, 300}, Repeats: 2, Turns: 1,
		Latency: promptbench.Latencies{DynamoDB: time.Millisecond, Embedding: 20 * time.Millisecond, Pinecone: 10 * time.Millisecond},
	}
	o, err := promptbench.Run(t.Context(), dynamodbtest.Endpoint(t), dynamodbtest.TableName(t), s, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Walls) != len(prompt.Recipes) || len(o.Efforts) != len(prompt.Recipes) || len(o.Growth) != 2 {
		t.Fatalf("%d and %d recipes, %d lengths", len(o.Walls), len(o.Efforts), len(o.Growth))
	}
	for _, w := range o.Walls {
		if w.Recipe == prompt.Unified && (w.Critical < 31*time.Millisecond || w.Calls < 7 || w.Depth < 3) {
			t.Errorf("the chain of embedding, index and records: %+v", w)
		}
		if w.Median < w.Critical || w.RatioMedian < 1 || w.RatioP99 < w.RatioMedian {
			t.Errorf("%+v", w)
		}
	}
	for _, e := range o.Efforts {
		if e.Recipe == prompt.TieredHistory && (e.Characters < 110_000 || e.Tokens < 15_000) {
			t.Errorf("the history is short: %+v", e)
		}
		if e.Records <= 0 || e.Decoding <= e.Records || e.Allocations == 0 || e.DecodingBytes <= e.Bytes {
			t.Errorf("%+v", e)
		}
	}
	for i, g := range o.Growth {
		if g.Messages != s.Lengths[i] || g.Calls < 5 || g.OtherCalls != 2 || g.ReadUnits <= 0 || g.Median < 31*time.Millisecond || g.Idle <= g.IdleCalls || g.IdleCalls <= 0 {
			t.Errorf("%+v", g)
		}
	}
	checkChat(t, o.Chat)
	if text := o.Text() + o.Markdown(); !strings.Contains(text, "unified") || !strings.Contains(text, "held") || !strings.Contains(text, "| 300") {
		t.Errorf("rendered:\n%s", text)
	}
}

// checkChat holds what is known of a turn: a write, the prompt's invocation, the query's embedding, the index, the hits'
// records and the model follow each other, and two messages are indexed behind it.
func checkChat(t *testing.T, c promptbench.Chat) {
	t.Helper()
	if c.Turns != 1 || c.Calls != 13 || c.Depth != 6 || len(c.Steps) != c.Calls || c.First != 14 || c.FirstDepth != 7 {
		t.Errorf("a turn: %+v", c)
	}
	want := []promptbench.Follower{
		{Function: "remember", Service: "DynamoDB", Call: "UpdateItem", Mean: 1},
		{Function: "remember", Service: "OpenAI", Call: "embeddings", Mean: 2},
		{Function: "remember", Service: "Pinecone", Call: "Upsert", Mean: 2},
	}
	if diff := cmp.Diff(want, c.Followers); diff != "" || c.Behind != 5 {
		t.Errorf("%v behind a turn (-want +got):\n%s", c.Behind, diff)
	}
}

func TestTrialCountsWhatFunctionsCallWhenTheyStart(t *testing.T) {
	starts, err := promptbench.Starts(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for _, s := range starts {
		calls[s.Function] = s.Calls
		if s.Waves > 1 || s.Median <= 0 || s.Bytes == 0 {
			t.Errorf("%+v", s)
		}
	}
	// The coach checks tokens itself, and fetches the issuer's keys.
	want := map[string]int{"coach": 1, "context": 0, "messages": 0, "prompt": 0, "remember": 0, "summarize": 0}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}

func TestTrialRefusesWhatItCannotMeasure(t *testing.T) {
	for _, s := range []promptbench.Settings{{Repeats: 1}, {Lengths: []int{99}, Repeats: 1}, {Lengths: []int{100}}} {
		if _, err := promptbench.Run(t.Context(), "", "", s, func(string) {}); err == nil {
			t.Errorf("%+v is measured", s)
		}
	}
}

func TestBars(t *testing.T) {
	good := func() promptbench.Result {
		return promptbench.Result{
			Walls:   []promptbench.Wall{{Recipe: prompt.Unified, RatioMedian: 1.05, RatioP99: 1.2}, {Recipe: "other", RatioMedian: 3}},
			Efforts: []promptbench.Effort{{Recipe: prompt.TieredHistory, Records: 2 * time.Millisecond, Decoding: 8 * time.Millisecond}},
			Growth: []promptbench.Growth{
				{Messages: 100, Calls: 7, ReadUnits: 100, Median: 100},
				{Messages: 1000, Calls: 7, ReadUnits: 110, Median: 110},
			},
			Chat:   promptbench.Chat{Turns: 20, Calls: 13, Depth: 6, First: 14, FirstDepth: 7, Behind: 6},
			Starts: []promptbench.Start{{Function: "prompt", Median: 60 * time.Millisecond, Calls: 2, Waves: 1}},
		}
	}
	for name, c := range map[string]struct {
		spoil func(*promptbench.Result)
		want  []string
	}{
		"all held": {func(*promptbench.Result) {}, nil},
		"median": {
			func(o *promptbench.Result) { o.Walls[0].RatioMedian = 1.06 }, []string{"unified: wall time over its critical path, median"},
		},
		"p99": {func(o *promptbench.Result) { o.Walls[0].RatioP99 = 1.21 }, []string{"unified: wall time over its critical path, p99"}},
		"own": {
			func(o *promptbench.Result) { o.Efforts[0].Records = 3 * time.Millisecond },
			[]string{"tiered-history: own CPU from decoded records, median"},
		},
		"decoding": {
			func(o *promptbench.Result) { o.Efforts[0].Decoding = 9 * time.Millisecond },
			[]string{"tiered-history: own CPU with decoding, median"},
		},
		"calls": {func(o *promptbench.Result) { o.Growth[1].OtherCalls = 1 }, []string{"1,000 messages over 100: remote calls"}},
		"units": {func(o *promptbench.Result) { o.Growth[1].ReadUnits = 111 }, []string{"1,000 messages over 100: read units"}},
		"time":  {func(o *promptbench.Result) { o.Growth[1].Median = 111 }, []string{"1,000 messages over 100: time"}},
		"start": {
			func(o *promptbench.Result) { o.Starts[0].Median = 61 * time.Millisecond }, []string{"prompt: process start to ready, median"},
		},
		"waves": {
			func(o *promptbench.Result) { o.Starts[0].Waves = 2 }, []string{"prompt: remote calls that follow each other at start"},
		},
		"turn":    {func(o *promptbench.Result) { o.Chat.Calls = 14 }, []string{"chat: remote calls of a turn until done, most"}},
		"deep":    {func(o *promptbench.Result) { o.Chat.Depth = 7 }, []string{"chat: deep before the first token, most"}},
		"behind":  {func(o *promptbench.Result) { o.Chat.Behind = 6.05 }, []string{"chat: remote calls behind a turn, mean"}},
		"no chat": {func(o *promptbench.Result) { o.Chat = promptbench.Chat{Calls: 14} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := good()
			c.spoil(&o)
			if diff := cmp.Diff(c.want, o.Missed()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
