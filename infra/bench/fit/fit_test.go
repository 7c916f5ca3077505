package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/testing/check"
)

// drawPools draws pools of random features about one conversation. In each, one record is the evidence: a record is
// drawn with a probability that is proportional to the exponential of its score by the weights.
func drawPools(random *rand.Rand, set, conversation string, count int, weights map[string]float64) []pool {
	known := make(model, len(rank.Names))
	for name, w := range weights {
		known[column(name)] = w
	}
	pools := make([]pool, count)
	for n := range pools {
		const size = 10
		p := pool{
			set: set, conversation: conversation, category: "drawn", evidence: 1, relevant: make([]bool, size),
			index: make([]float64, size), chars: make([]int, size),
		}
		candidates := make([]rank.Candidate, size)
		for i := range candidates {
			candidates[i].ID = fmt.Sprint(i)
		}
		p.features = rank.Features(rank.NewQuery("", time.Time{}), candidates) // for its size alone
		chances, total := make([]float64, size), 0.0
		for i := range size {
			row := p.features.Row(i)
			for j := range row {
				row[j] = random.Float64()
			}
			chances[i] = math.Exp(known.score(row))
			total += chances[i]
		}
		drawn := random.Float64() * total
		for i, chance := range chances {
			if drawn -= chance; drawn < 0 || i == size-1 {
				p.relevant[i] = true
				break
			}
		}
		pools[n] = p
	}
	return pools
}

// TestFitFindsTheWeights fits weights to evidence that was drawn by known ones.
func TestFitFindsTheWeights(t *testing.T) {
	t.Parallel()
	known := map[string]float64{"dense": 4, "speaker": 2, "question": -3}
	drawn := map[string]float64{"length": -2} // a weight that length may not have
	maps.Copy(drawn, known)
	m := fitRanking(drawPools(rand.New(rand.NewPCG(1, 2)), "a", "ann", 500, drawn))
	for j, name := range rank.Names {
		if got := m[j]; math.Abs(got-known[name]) > 0.7 {
			t.Errorf("%s has the weight %.2f, want %.2f", name, got, known[name])
		}
	}
	for _, name := range []string{"length", "age", "exact", "content", "rivals"} {
		if w := m[column(name)]; w != 0 {
			t.Errorf("%s has the weight %v: it is of the wrong sign or set by hand", name, w)
		}
	}
}

// TestCalibrationFindsTheOdds calibrates a ranking whose odds are off by a factor, a constant, and by how many rivals
// there are: every other pool has only records that are alike.
func TestCalibrationFindsTheOdds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	m := make(model, len(rank.Names))
	m[column("dense")] = 2
	pools := drawPools(random, "a", "ann", 600, nil)
	for n, p := range pools {
		for i := range p.relevant {
			if n%2 == 0 {
				p.features.Row(i)[column("dense")] = 4 + random.Float64()
			}
		}
	}
	truth := calibration{1.5, -1, -1}
	for n, p := range pools {
		examples := examplesOf(pools[n:n+1], m)
		for i := range p.relevant {
			p.relevant[i] = random.Float64() < rank.Probability(truth.odds(examples[i]))
		}
	}
	c, off, n := calibrate(pools, m), [2]float64{}, [2]float64{}
	for _, e := range examplesOf(pools, m) {
		kind := 0
		if e.inputs[1] > 10 {
			kind = 1
		}
		off[kind] += e.label - rank.Probability(c.odds(e))
		n[kind] += e.label
	}
	if math.Abs(c[0]-truth[0]) > 0.2 || math.Abs(off[0]) > n[0]/10 || math.Abs(off[1]) > n[1]/10 || c[1] > -0.5 {
		t.Errorf("%v, want about %v; of pools without and with rivals %v is off of %v", c, truth, off, n)
	}
	matrix := [3]calibration{{2, 0, 0}, {0, 0, 0}, {0, 0, 4}} // of an input that is always 0
	if got, want := solve(matrix, calibration{1, 0, 1}), (calibration{0.5, 0, 0.25}); got != want {
		t.Errorf("the step is %v, want %v", got, want)
	}
}

// TestLeftOut checks that the weights of a conversation, and of a data set, know nothing of it.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	pools := slices.Concat(
		drawPools(random, "a", "ann", 60, map[string]float64{"dense": 6}),
		drawPools(random, "b", "ben", 60, map[string]float64{"speaker": 6}),
		drawPools(random, "b", "cleo", 60, map[string]float64{"speaker": 6}),
	)
	weight := func(f fitted, name string) float64 { return f.model[column(name)] }
	conversations := leaveOut(pools, byPerson)
	if len(conversations.weights) != 3 {
		t.Fatalf("%d models for 3 conversations", len(conversations.weights))
	}
	ann := conversations.weights["a/ann"]
	if weight(ann, "dense") > 1 || weight(ann, "speaker") < 4 {
		t.Errorf("without the first conversation: dense %.2f, speaker %.2f", weight(ann, "dense"), weight(ann, "speaker"))
	}
	if ben := conversations.weights["b/ben"]; weight(ben, "dense") < 1 {
		t.Errorf("without the second conversation: dense %.2f", weight(ben, "dense"))
	}
	sets := leaveOut(pools, bySet)
	if b := sets.weights["b"]; len(sets.weights) != 2 || weight(b, "speaker") > 2 || weight(b, "dense") < 4 {
		t.Errorf("without the second data set: dense %.2f, speaker %.2f", weight(b, "dense"), weight(b, "speaker"))
	}
	if got := conversations.probabilities(pools[0]); !slices.Equal(got, ann.probabilities(pools[0])) {
		t.Error("a conversation is not scored by the weights that have not seen it")
	}
}

// TestDataSetsCountAlike fits weights to a data set of few questions and another one of many.
func TestDataSetsCountAlike(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	few := drawPools(random, "few", "ann", 40, map[string]float64{"dense": 6})
	many := drawPools(random, "many", "ben", 400, map[string]float64{"speaker": 6})
	m := fitRanking(slices.Concat(few, many))
	if d, s := m[column("dense")], m[column("speaker")]; d < s/2 || s < d/2 {
		t.Errorf("dense %.2f, speaker %.2f", d, s)
	}
}

// TestLimit scores no more messages than a recall returns.
func TestLimit(t *testing.T) {
	t.Parallel()
	list := make([]cutoff.Message, 120)
	for i := range list {
		list[i].Chars = 100
	}
	list[30].Relevant, list[110].Relevant = true, true
	want := cutoff.Shares{0, 0, 0, 0, 0.5, 0.5, 0.5}
	check.Same(t, want, byWords(pool{words: list, evidence: 2}), "the result")
}

// talks is a file of three conversations.
const talks = `{"conversations": [
	{"id": "ann", "sessions": [{"startedAt": "2026-01-05T07:00:00Z", "messages": [
		{"id": "a1", "role": "user", "content": "I bought blue shoes."}, {"id": "a2", "role": "user", "content": "It rains."}
	]}], "questions": [{"text": "Which shoes did I buy?", "evidence": ["a1"]}]},
	{"id": "ben", "sessions": [{"startedAt": "2026-01-05T07:00:00Z", "messages": [
		{"id": "b1", "role": "user", "content": "My knee hurts."}, {"id": "b2", "role": "user", "content": "I slept."}
	]}], "questions": [{"text": "What hurts?", "evidence": ["b1"]}]},
	{"id": "cleo", "sessions": [{"startedAt": "2026-01-05T07:00:00Z", "messages": [
		{"id": "c1", "role": "user", "content": "Is it late?"}, {"id": "c2", "role": "user", "content": "I run on Mondays."}
	]}], "questions": [{"text": "When do I run?", "evidence": ["c2"]}]}
]}`

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "talks.json")
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// fitWithout runs the command on a file and returns the weights that it writes.
func fitWithout(t *testing.T, text, leaveOut string) *rank.Weights {
	t.Helper()
	o := options{data: writeFile(t, text), leaveOneOut: t.TempDir()}
	check.OK(t, o.run(t.Context(), io.Discard))
	written := check.Got(os.ReadFile(filepath.Join(o.leaveOneOut, leaveOut+".json")))(t)
	return check.Got(rank.Parse(written))(t)
}

// TestLeaveOut checks that what a conversation asks and says does not change the weights that leave it out, and that
// the service reads the file that is written.
func TestLeaveOut(t *testing.T) {
	t.Parallel()
	want := fitWithout(t, talks, "cleo")
	if !strings.HasSuffix(want.Data, "talks without cleo; offline embedding") || want.Date == "" {
		t.Errorf("fitted on %q, %q", want.Data, want.Date)
	}
	other := strings.NewReplacer("Is it late?", "On Mondays.", "When do I run?", "Do I run late?", `"c2"]`, `"c1"]`)
	check.Same(t, want.Features, fitWithout(t, other.Replace(talks), "cleo").Features,
		"the conversation that is left out changes the weights")
	if cmp.Equal(want.Features, fitWithout(t, talks, "ann").Features) {
		t.Error("without another conversation the weights are the same")
	}
}
