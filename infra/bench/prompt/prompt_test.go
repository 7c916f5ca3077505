package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// TestRunMeasuresEverything takes all measurements, each seldom. The numbers of a turn are exact: a write, the prompt's
// invocation, the query's embedding, the index query, the read of the hits and the model follow each other, and two
// messages are indexed together after the turn.
func TestRunMeasuresEverything(t *testing.T) {
	t.Parallel()
	s := settings{
		lengths: []int{100, 150}, repeats: 2, warmups: 2, starts: 1, turns: 1, day: 8,
		latency: latencies{
			dynamoDB: time.Millisecond, embedding: 20 * time.Millisecond, pinecone: 10 * time.Millisecond,
		},
	}
	r := check.Got(run(t.Context(), dynamodbtest.Endpoint(t), dynamodbtest.TableName(t), s))(t)
	if w := r.wall; w.critical < 31*time.Millisecond || w.calls < 7 || w.depth < 3 || w.median < w.critical ||
		w.ratio50 < 1 || w.ratio99 < w.ratio50 {
		t.Errorf("%+v", w)
	}
	if c := r.cpu; c.characters < 110_000 || c.tokens < 15_000 || c.fromRecords <= 0 || c.withDecoding <= c.fromRecords {
		t.Errorf("%+v", c)
	}
	if len(r.growth) != 2 {
		t.Errorf("%d lengths", len(r.growth))
	}
	for i, g := range r.growth {
		if g.messages != s.lengths[i] || g.calls < 5 || g.others != 2 || g.readUnits <= 0 || g.median < 31*time.Millisecond {
			t.Errorf("%+v", g)
		}
	}
	if r.reuse.median < 0.3 || r.reuse.tokens < 1000 {
		t.Errorf("%+v", r.reuse)
	}
	checkChat(t, r.chat)
	checkStarts(t, r.starts)
	if text := r.report().Markdown("make bench NAME=prompt"); !strings.Contains(text, "| unified") {
		t.Error(text)
	}
}

func checkChat(t *testing.T, c chat) {
	t.Helper()
	if c.turns != 1 || c.calls != 13 || c.depth != 5 || len(c.steps) != c.calls || c.first != 14 || c.firstDepth != 6 {
		t.Errorf("a turn: %+v", c)
	}
	followers := slices.Sorted(maps.Keys(c.followers))
	want := []string{
		"remember: DynamoDB BatchGetItem", "remember: DynamoDB Query", "remember: DynamoDB UpdateItem",
		"remember: OpenAI embeddings", "remember: Pinecone Upsert",
	}
	if diff := cmp.Diff(want, followers); diff != "" || c.after != 5 {
		t.Errorf("%v after a turn (-want +got):\n%s", c.after, diff)
	}
}

// checkStarts compares the remote calls of starts. coach and mcp check tokens themselves. They ask the issuer for its
// keys and for where they are, at the same time.
func checkStarts(t *testing.T, s starts) {
	t.Helper()
	calls := map[string]int{}
	for _, f := range s.functions {
		calls[f.name] = f.calls
		if f.waves > 1 || f.median() <= 0 {
			t.Errorf("%+v", f)
		}
	}
	if s.empty <= 0 || s.vocabulary <= 0 {
		t.Errorf("the empty function: %v, the vocabulary: %v", s.empty, s.vocabulary)
	}
	want := map[string]int{
		"coach": 2, "context": 0, "mcp": 2, "messages": 0, "migrate": 0, "prompt": 0, "remember": 0, "summarize": 0,
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}

// held returns a result that is at the limit of every bar.
func held() result {
	return result{
		wall: wall{ratio50: 1.05, ratio99: 1.2},
		cpu:  cpu{fromRecords: 20, counting: 100, withDecoding: 150, bareDecoding: 100},
		growth: []growth{
			{messages: 100, calls: 7, readUnits: 100, median: 100}, {messages: 1000, calls: 7, readUnits: 110, median: 110},
		},
		reuse: reuse{median: 0.75},
		chat:  chat{turns: 20, calls: 13, depth: 5, first: 14, firstDepth: 6, after: 6},
		starts: starts{empty: 10, vocabulary: 20, functions: []*program{
			{name: "coach", took: []time.Duration{30}, waves: 1}, {name: "prompt", took: []time.Duration{50}, waves: 1},
		}},
	}
}

func TestBarsFindWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	for missed, change := range map[string]func(*result){
		"": func(*result) {},
		"unified: wall time over its critical path, median": func(r *result) { r.wall.ratio50 = 1.06 },
		"unified: wall time over its critical path, p99":    func(r *result) { r.wall.ratio99 = 1.21 },
		"tiered-history: own CPU from decoded records over counting the text's tokens": func(r *result) {
			r.cpu.fromRecords = 21
		},
		"tiered-history: own CPU with decoding over the SDK's bare decoding": func(r *result) {
			r.cpu.withDecoding = 151
		},
		"1,000 messages over 100: remote calls": func(r *result) { r.growth[1].others = 1 },
		"1,000 messages over 100: read units":   func(r *result) { r.growth[1].readUnits = 111 },
		"1,000 messages over 100: time":         func(r *result) { r.growth[1].median = 111 },
		"coach: start to ready over an empty function's": func(r *result) {
			r.starts.functions[0].took[0] = 31
		},
		"prompt: start to ready over an empty function's, without building the vocabulary": func(r *result) {
			r.starts.functions[1].took[0] = 51
		},
		"prompt: remote calls that follow each other at start": func(r *result) { r.starts.functions[1].waves = 2 },
		"chat: remote calls of a turn until done, most":        func(r *result) { r.chat.calls = 14 },
		"chat: deep before the first token, most":              func(r *result) { r.chat.depth = 6 },
		"chat: remote calls after a turn, mean":                func(r *result) { r.chat.after = 6.05 },
		"a day's chat: share of a prompt that the turn before did not begin with, median": func(r *result) {
			r.reuse.median = 0.74
		},
	} {
		r := held()
		change(&r)
		check.Equal(t, missed, strings.Join(r.report().Missed(), "; "), "missed")
	}
}

// callsAt returns calls that begin and end that long after a prompt's beginning.
func callsAt(times ...[2]time.Duration) (out []call) {
	began := time.Now()
	for _, t := range times {
		out = append(out, call{begin: began.Add(t[0]), end: began.Add(t[1])})
	}
	return out
}

func TestCriticalPathIsTheSlowestChain(t *testing.T) {
	t.Parallel()
	type span = [2]time.Duration
	for name, c := range map[string]struct {
		calls []call
		took  time.Duration
		depth int
	}{
		"none":                   {nil, 0, 0},
		"one":                    {callsAt(span{2, 9}), 7, 1},
		"side by side":           {callsAt(span{0, 5}, span{1, 9}, span{2, 4}), 8, 1},
		"one after another":      {callsAt(span{0, 5}, span{5, 9}, span{11, 14}), 12, 3},
		"a gap is not the calls": {callsAt(span{0, 5}, span{50, 55}), 10, 2},
		// embedding, index, records beside reads of their own chain
		"two chains":            {callsAt(span{0, 60}, span{0, 5}, span{5, 10}, span{61, 91}, span{92, 97}), 95, 3},
		"a late call overlaps":  {callsAt(span{0, 10}, span{9, 30}), 21, 1},
		"many short ones lose":  {callsAt(span{0, 1}, span{1, 2}, span{2, 3}, span{0, 10}), 10, 1},
		"the slower of two led": {callsAt(span{0, 4}, span{0, 6}, span{7, 8}), 7, 2},
	} {
		for range c.calls { // in every order of recording
			if took, depth := criticalPath(c.calls); took != c.took || depth != c.depth {
				t.Errorf("%s: took %d, %d deep, want %d and %d", name, took, depth, c.took, c.depth)
			}
			c.calls = append(slices.Clone(c.calls[1:]), c.calls[0])
		}
	}
}

// TestDepthsFollowEndsAndInvocations has two chains in the coach function, an invocation, and what the invoked function
// does. The write that is recorded last came first.
func TestDepthsFollowEndsAndInvocations(t *testing.T) {
	t.Parallel()
	type span = [2]time.Duration
	calls := callsAt(span{5, 20}, span{6, 11}, span{11, 16}, span{6, 8}, span{20, 30}, span{0, 5})
	for i, of := range [][2]string{
		{"coach", "invocations"},
		{"prompt", "read"},
		{"prompt", "query"},
		{"coach", "side"},
		{"coach", "responses"},
		{"coach", "write"},
	} {
		calls[i].function, calls[i].operation = of[0], of[1]
	}
	token := setDepths(calls)
	got := map[string]int{}
	for _, c := range calls {
		got[c.operation] = c.depth
	}
	want := map[string]int{"write": 1, "invocations": 2, "side": 2, "read": 3, "query": 4, "responses": 5}
	if diff := cmp.Diff(want, got); diff != "" || token != 5 || calls[0].operation != "write" {
		t.Errorf("the first token comes at %d, (-want +got)\n%s", token, diff)
	}
}
