package trial_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/bench/prompt/trial"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/prompt"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestTrialMeasuresEveryRecipe(t *testing.T) {
	table := dynamodbtest.Table(t, dynamo.CreateTableInput("bench-prompt"))
	s := trial.Settings{
		Lengths: []int{100, 300}, Repeats: 2,
		Latency: trial.Latencies{DynamoDB: time.Millisecond, Embedding: 5 * time.Millisecond, Pinecone: 3 * time.Millisecond},
	}
	o, err := trial.Run(t.Context(), dynamodbtest.Client(t), table, s, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Speeds) != len(prompt.Recipes) || len(o.Growth) != 2 {
		t.Fatalf("%d recipes, %d lengths", len(o.Speeds), len(o.Growth))
	}
	for _, v := range o.Speeds {
		if v.Recipe == prompt.Unified && (v.Critical != 9*time.Millisecond || v.Tokens < 2000) {
			t.Errorf("unified: critical path %v, %d tokens", v.Critical, v.Tokens)
		}
		if v.Median < v.Critical || v.P99 < v.Median || v.Own <= 0 || v.Decoding <= 0 || v.Allocations == 0 {
			t.Errorf("%+v", v)
		}
	}
	for _, g := range o.Growth {
		if g.Calls < 6 || g.ReadUnits <= 0 || g.Median <= 0 {
			t.Errorf("%+v", g)
		}
	}
	if text := o.Text() + o.Markdown(); !strings.Contains(text, "unified") || !strings.Contains(text, "held") || !strings.Contains(text, "| 300") {
		t.Errorf("rendered:\n%s", text)
	}
}

func TestTrialRefusesWhatItCannotMeasure(t *testing.T) {
	for _, s := range []trial.Settings{{Repeats: 1}, {Lengths: []int{99}, Repeats: 1}, {Lengths: []int{100}}} {
		if _, err := trial.Run(t.Context(), nil, "", s, func(string) {}); err == nil {
			t.Errorf("%+v is measured", s)
		}
	}
}

func TestBars(t *testing.T) {
	o := trial.Outcome{
		Latency: trial.Real,
		Speeds: []trial.Speed{{
			Recipe: "r", Critical: 100 * time.Millisecond, Median: 104 * time.Millisecond, P99: 119 * time.Millisecond,
			Own: time.Millisecond, Decoding: 7 * time.Millisecond,
		}},
		Growth: []trial.Growth{{Messages: 100, Calls: 7, ReadUnits: 100, Median: 10}, {Messages: 1000, Calls: 7, ReadUnits: 109, Median: 11}},
	}
	if !o.Held() || len(o.Bars()) != 7 {
		t.Errorf("bars %+v", o.Bars())
	}
	for name, spoil := range map[string]func(*trial.Outcome){
		"median":   func(o *trial.Outcome) { o.Speeds[0].Median = 106 * time.Millisecond },
		"p99":      func(o *trial.Outcome) { o.Speeds[0].P99 = 121 * time.Millisecond },
		"own":      func(o *trial.Outcome) { o.Speeds[0].Own = 3 * time.Millisecond },
		"decoding": func(o *trial.Outcome) { o.Speeds[0].Decoding = 9 * time.Millisecond },
		"calls":    func(o *trial.Outcome) { o.Growth[1].Calls = 8 },
		"units":    func(o *trial.Outcome) { o.Growth[1].ReadUnits = 111 },
		"time":     func(o *trial.Outcome) { o.Growth[1].Median = 12 },
	} {
		bad := o
		bad.Speeds = append([]trial.Speed{}, o.Speeds...)
		bad.Growth = append([]trial.Growth{}, o.Growth...)
		if spoil(&bad); bad.Held() {
			t.Errorf("%s: held", name)
		}
	}
}
