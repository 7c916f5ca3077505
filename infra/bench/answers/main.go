// Command answers measures how many questions a model answers rightly from a prompt alone. It imports conversations
// through the public HTTP API into a local stack of its own, builds the prompt of each question of a sample, has one
// model answer it and another one judge the answer. Beside it the same model answers from the messages that BM25 finds
// within as many tokens. Both models are of any service with OpenAI's protocol.
//
//	OPENAI_API_KEY=… go -C infra/bench run ./answers -data "FILE FILE" -model gpt-5-mini -judge gpt-5.1
//	  [-url https://api.openai.com/v1] [-sample 140] [-seed 1] [-price "0.25 2 1.25 10"]
//
// What the models are told is in answer.txt and judge.txt. Before the first call it prints how many calls and tokens
// the sample takes at most, and what they cost where -price has dollars for a million tokens: the model's input and
// output, and the judge's. Questions without an answer in the file are left out. The files are as for the benchmark of
// recall.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/openai"
)

type options struct {
	data, url, model, judge, price string
	sample                         int
	seed                           uint64
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "", "files with the conversations and questions, with spaces between them (required)")
	flag.StringVar(&o.url, "url", "https://api.openai.com/v1", "base URL of the service")
	flag.StringVar(&o.model, "model", "", "the model that answers (required)")
	flag.StringVar(&o.judge, "judge", "", "the model that judges (required)")
	flag.StringVar(&o.price, "price", "", "dollars for a million tokens: the model's input and output, the judge's")
	flag.IntVar(&o.sample, "sample", 140, "how many questions are asked")
	flag.Uint64Var(&o.seed, "seed", 1, "which questions are asked")
	flag.Parse()
	if o.data == "" || o.model == "" || o.judge == "" {
		fmt.Fprintln(os.Stderr, "bench-answers: -data names files of conversations, -model and -judge two models")
		os.Exit(2)
	}
	rig.Run("answers", o.run)
}

func (o options) run(ctx context.Context) error {
	sets, err := dataset.ReadSets(o.data)
	if err != nil {
		return err
	}
	o.draw(sets)
	fmt.Println(o.plan(sets))
	return launch.With(ctx, []string{"LOG_LEVEL=ERROR"}, func(stack *launch.Stack) error {
		return o.measure(ctx, client.New(stack.Base), sets)
	})
}

// measure asks the questions of the sets and prints what share of the answers is right.
func (o options) measure(ctx context.Context, api *client.Client, sets []dataset.Set) error {
	b, err := evidence.Load(ctx, api, sets)
	if err != nil {
		return err
	}
	examiner := examiner{answers: o.client(o.model), judges: o.client(o.judge)}
	marks, err := examiner.examine(ctx, b)
	if err != nil {
		return err
	}
	fmt.Print(table(sets, b.Cases, marks))
	return nil
}

// client asks a model. A service of one's own may need no key.
func (o options) client(model string) *openai.Client {
	key := cmp.Or(os.Getenv("OPENAI_API_KEY"), "none")
	return openai.New(config.OpenAI{BaseURL: o.url, APIKey: key, ChatModel: model})
}

// draw keeps a sample of the questions that have an answer, the same for the same seed and files.
func (o options) draw(sets []dataset.Set) {
	var answered []*dataset.Question
	for _, s := range sets {
		for _, c := range s.Conversations {
			for i := range c.Questions {
				if c.Questions[i].Answer != "" {
					answered = append(answered, &c.Questions[i])
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(o.seed, 0))
	random.Shuffle(len(answered), func(i, j int) { answered[i], answered[j] = answered[j], answered[i] })
	for _, q := range answered[min(o.sample, len(answered)):] {
		q.Answer = ""
	}
	for _, s := range sets {
		for i := range s.Conversations {
			c := &s.Conversations[i]
			c.Questions = slices.DeleteFunc(c.Questions, func(q dataset.Question) bool { return q.Answer == "" })
		}
	}
}
