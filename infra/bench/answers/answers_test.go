package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/bench/stacktest"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// files are conversations with questions whose answers are known.
const files = "../recall/testdata/monologues.json"

// TestAnswersOfTheLocalServer has the local server's model answer and judge what a stack's prompts and BM25 bring.
func TestAnswersOfTheLocalServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(offlinemodel.Handler())
	t.Cleanup(server.Close)
	o := options{
		url: server.URL + "/v1", model: "gpt-5-mini", judge: "gpt-5-mini", sample: 3, seed: 7,
	}
	sets := check.Got(dataset.ReadSets(files))(t)
	o.draw(sets)
	api := client.New(stacktest.Start(t).URL())
	b := check.Got(evidence.Load(t.Context(), api, sets))(t)
	answers := &spy{completer: o.client(o.model)}
	judges := &spy{completer: o.client(o.judge)}
	marks, err := examiner{answers, judges}.examine(t.Context(), b)
	if err != nil || len(marks) != 3 {
		t.Fatalf("%d marks, %v", len(marks), err)
	}
	if len(answers.asked) != 6 || len(judges.asked) != 6 {
		t.Errorf("%d answers and %d verdicts", len(answers.asked), len(judges.asked))
	}
	for _, c := range b.Cases {
		for of, asked := range map[string][]string{"answer": answers.asked, "verdict": judges.asked} {
			if n := strings.Count(strings.Join(asked, "\n"), c.Question.Text); n < 2 {
				t.Errorf("%q is in %d calls for an %s", c.Question.Text, n, of)
			}
		}
		if !strings.Contains(strings.Join(judges.asked, "\n"), "Right answer: "+c.Question.Answer) {
			t.Errorf("no judge has read %q", c.Question.Answer)
		}
	}
	if got := table(sets, b.Cases, marks); !strings.Contains(got, "| monologues | 3 |") {
		t.Error(got)
	}
}

// spy keeps what a model is asked.
type spy struct {
	completer
	mu    sync.Mutex
	asked []string
}

func (s *spy) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	text := ""
	for _, m := range r.Messages {
		text += m.Content + "\n"
	}
	s.mu.Lock()
	s.asked = append(s.asked, text)
	s.mu.Unlock()
	return s.completer.Complete(ctx, r)
}

// TestPlan draws the same questions for the same seed, and says before it starts what they cost.
func TestPlan(t *testing.T) {
	t.Parallel()
	drawn := func(seed uint64) string {
		sets := check.Got(dataset.ReadSets(files))(t)
		o := options{seed: seed, sample: 4, model: "m", judge: "j", price: "1 10 2 20"}
		o.draw(sets)
		text := ""
		for _, c := range sets[0].Conversations {
			for _, q := range c.Questions {
				text += q.Text + "\n"
			}
		}
		// 8 calls of 4,000 and 400 tokens, and 8 of 600 and 200
		want := "4 questions (seed 1): 8 answers of m and as many verdicts of j, at most 32000 tokens in and 3200 out, and " +
			"4800 in and 1600 out: at most 0.11 dollars"
		if plan := o.plan(sets); seed == 1 && plan != want {
			t.Errorf("%s, want %s", plan, want)
		}
		return text
	}
	first, again := drawn(1), drawn(1)
	if first != again || first == drawn(2) || strings.Count(first, "\n") != 4 {
		t.Errorf("drawn are\n%s\n%s\n%s", drawn(1), drawn(1), drawn(2))
	}
}
