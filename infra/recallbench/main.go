// Command recallbench measures how much of what questions ask for is found. It imports conversations through the public
// HTTP API, waits until all is summarised and indexed, and asks every question. It prints which share of the evidence
// is among the first k messages of recall (R@k) and within a budget of tokens (B), by category, beside the newest
// messages and BM25; which share stands in a prompt of 4,000 tokens; how much of the answers the summaries have; and
// what a query takes. It starts a local stack of its own, or uses one that runs.
//
//	go run ./infra/recallbench -data FILE [-embeddings http://127.0.0.1:8091/v1] [-every 1] [-docs docs]
//	go run ./infra/recallbench -data FILE -base http://127.0.0.1:8080
//
// The file has LoCoMo's form or that of package dataset. The service at -embeddings has OpenAI's interface: make
// embeddings serves a small model. Without it, the offline model embeds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/dataset"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/infra/recallbench/evidence"
)

type options struct {
	data, base, embeddings, model, docs string
	dimensions, every                   int
	limit                               time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "", "file with the conversations and questions (required)")
	flag.StringVar(&o.base, "base", "", "address of a running stack; without one, a fresh stack is started")
	flag.StringVar(&o.embeddings, "embeddings", "", "base URL of an embedding service; the offline model by default")
	flag.StringVar(&o.model, "model", "all-MiniLM-L6-v2", "embedding model of that service")
	flag.IntVar(&o.dimensions, "dimensions", 384, "dimension of that model")
	flag.IntVar(&o.every, "every", 1, "ask every n-th question of each conversation")
	flag.DurationVar(&o.limit, "limit", 30*time.Minute, "how long to wait until all is indexed")
	flag.StringVar(&o.docs, "docs", "", "folder of the documents to write the results into")
	flag.Parse()
	if o.data == "" || o.every < 1 {
		fmt.Fprintln(os.Stderr, "recallbench: -data is missing: name a file of conversations; -every is at least 1")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "recallbench:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) (err error) {
	conversations, err := dataset.Read(o.data)
	if err != nil {
		return err
	}
	base := o.base
	if base == "" {
		stack, stop, err := o.start(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		base = stack.Base
	}
	result, err := o.measure(ctx, client.New(base), conversations)
	if err != nil {
		return err
	}
	fmt.Print(result.text())
	if o.docs == "" {
		return nil
	}
	return report.WriteSection(o.docs+"/benchmarks.md", "# Benchmarks\n", "recall "+result.Model, result.markdown())
}

// start builds and starts a stack with the embedding service.
func (o options) start(ctx context.Context) (_ *launch.Stack, stop func() error, err error) {
	folder, err := os.MkdirTemp("", "throughline-recallbench-")
	if err != nil {
		return nil, nil, fmt.Errorf("make folder: %w", err)
	}
	program, err := launch.Build(ctx, folder)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(folder))
	}
	environment := []string{"LOG_LEVEL=ERROR"}
	if o.embeddings != "" {
		environment = append(environment, "OPENAI_EMBEDDING_BASE_URL="+o.embeddings, "OPENAI_EMBEDDING_MODEL="+o.model,
			"OPENAI_EMBEDDING_DIMENSIONS="+strconv.Itoa(o.dimensions))
	}
	stack, err := launch.Start(ctx, program, os.Stderr, environment...)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(folder))
	}
	return stack, func() error { return errors.Join(stack.Stop(), os.RemoveAll(folder)) }, nil
}

func (o options) measure(
	ctx context.Context, api *client.Client, conversations []dataset.Conversation,
) (r result, err error) {
	r = result{Date: time.Now().UTC().Format(time.DateOnly), Model: o.model, Every: o.every}
	embeddings := o.embeddings
	if embeddings == "" {
		var info struct{ OpenAIBaseURL string }
		if err := api.Do(ctx, http.MethodGet, "/dev/info", nil, &info); err != nil {
			return r, fmt.Errorf("ask for the embedding service: %w", err)
		}
		embeddings, r.Model = info.OpenAIBaseURL, offlinemodel.ModelID
	}
	r.count(conversations)
	began := time.Now()
	b, err := evidence.Load(ctx, api, conversations, o.every, o.limit)
	if err != nil {
		return r, err
	}
	r.Seconds, r.Questions = time.Since(began).Seconds(), len(b.Cases)
	r.Newest, r.BM25 = b.Newest(), b.BM25()
	if r.Recall, err = b.Recall(ctx); err != nil {
		return r, err
	}
	if r.Prompts, err = b.Prompts(ctx); err != nil {
		return r, err
	}
	if r.Summaries, err = b.Summaries(ctx); err != nil {
		return r, err
	}
	r.Times, err = b.Times(ctx, embeddings, r.Model)
	return r, err
}
