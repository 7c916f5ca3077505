// Command recall measures how much of what questions ask for is found. It imports conversations through the public
// HTTP API, waits until all is summarised and indexed, and asks every question. It prints which share of the evidence
// is among the first k messages of recall (R@k) and within a budget of tokens (B), for each data set, beside BM25 and
// the index's own score, and which share is in a prompt of 4,000 tokens that is asked for in each context, in a new
// session and in the middle of a chat. It starts a local stack of its own.
//
//	go -C infra/bench run ./recall -data "FILE FILE" [-embeddings http://127.0.0.1:8091/v1] [-docs ../../docs]
//
// Then it asks again, with weights of the ranking that have not seen what is asked about: those that
// were fitted on all other conversations, and those that were fitted on the other data sets (infra/bench/fit).
//
// Each file is a data set. It has LoCoMo's form or that of package dataset. The service at -embeddings has OpenAI's
// interface: make embeddings serves a small model. Without it, the offline model embeds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/registry"
)

type options struct {
	data, embeddings, model, docs string
	dimensions                    int
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "", "files with the conversations and questions, with spaces between them (required)")
	flag.StringVar(&o.embeddings, "embeddings", "", "base URL of an embedding service; the offline model by default")
	flag.StringVar(&o.model, "model", "all-MiniLM-L6-v2", "embedding model of that service")
	flag.IntVar(&o.dimensions, "dimensions", 384, "dimension of that model")
	flag.StringVar(&o.docs, "docs", "", "folder of the documents to write the results into")
	flag.Parse()
	if o.data == "" {
		fmt.Fprintln(os.Stderr, "bench-recall: -data names files of conversations")
		os.Exit(2)
	}
	rig.Run("recall", o.run)
}

func (o options) run(ctx context.Context) error {
	sets, err := dataset.ReadSets(o.data)
	if err != nil {
		return err
	}
	r := result{Date: time.Now().UTC().Format(time.DateOnly), Model: o.model, Command: o.command()}
	if err := o.measureStacks(ctx, sets, &r); err != nil {
		return err
	}
	fmt.Print(r.markdown())
	if o.docs == "" {
		return nil
	}
	return report.WriteSection(o.docs+"/benchmarks.md", "recall "+r.Model, r.markdown())
}

// command is how make runs the benchmark with these options.
func (o options) command() string {
	var files []string
	for path := range strings.FieldsSeq(o.data) {
		files = append(files, filepath.Base(path))
	}
	command := fmt.Sprintf("make bench NAME=recall DATA=%q", strings.Join(files, " "))
	if o.embeddings != "" {
		command += " EMBEDDINGS=" + o.embeddings
	}
	return command
}

// measure imports the conversations and measures the stack as it is.
func (o options) measure(
	ctx context.Context, api *client.Client, sets []dataset.Set, r *result,
) (*evidence.Bench, error) {
	if o.embeddings == "" {
		r.Model = offlinemodel.ModelID
	}
	began := time.Now()
	b, err := evidence.Load(ctx, api, sets)
	if err != nil {
		return nil, err
	}
	r.Seconds = time.Since(began).Seconds()
	for _, s := range sets {
		one := b.On(api, s.Has)
		found, err := ask(ctx, one)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		measured := &setResult{
			Name: s.Name, Conversations: len(s.Conversations), Questions: len(one.Cases),
			Rankings: []ranking{{words, evidence.Mean(one.BM25())}, {shipped, evidence.Mean(found)}},
		}
		for _, c := range s.Conversations {
			measured.Messages += c.Messages()
		}
		r.Sets = append(r.Sets, measured)
	}
	return b, nil
}

// ask asks the questions of a bench, of recall and in prompts.
func ask(ctx context.Context, b *evidence.Bench) ([]evidence.Found, error) {
	found, err := b.Recall(ctx)
	if err != nil {
		return nil, err
	}
	return found, b.AddPrompts(ctx, evidence.Places(registry.Live().ContextNames()), found)
}
