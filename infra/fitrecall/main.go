// Command fitrecall fits the weights of the ranking of recall to questions about conversations, and writes them.
//
//	go run ./infra/fitrecall -data locomo.json [-embeddings http://127.0.0.1:8088/v1] [-out weights.json]
//	  [-leave-one-out folder] [-robust] [-features] [-ablate]
//
// It indexes each conversation as the service does, in memory, and takes the same pool of matches for each question.
// Then it prints which share of the evidence is among the first k messages (R@k) and within a budget of tokens (B):
// by the index's own score, by BM25, by the weights that the service has, and by weights that were fitted on the
// other conversations. It shows what noise small talk brings, and what is lost on data with other habits. The file
// has LoCoMo's form or that of package dataset.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/local/embedder"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/vector"
)

// offline embeds by the offline model.
type offline struct{ *embedder.Embedder }

func (o offline) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = o.Embedder.Embed(t, embedder.DefaultDimensions)
	}
	return out, nil
}

type options struct {
	data, embeddings, model, out, leaveOneOut string
	pool                                      int
	ablate, features, robust                  bool
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "", "file with the conversations and questions (required)")
	flag.StringVar(&o.embeddings, "embeddings", "", "base URL of an embedding service; the offline model by default")
	flag.StringVar(&o.model, "model", "all-MiniLM-L6-v2", "embedding model of that service")
	flag.StringVar(&o.out, "out", "", "file to write the weights to")
	flag.StringVar(&o.leaveOneOut, "leave-one-out", "",
		"only fit, for each conversation on all others, and write the weights to id.json in this folder")
	flag.IntVar(&o.pool, "pool", 400, "how many matches of the index are ranked")
	flag.BoolVar(&o.features, "features", false, "also measure the weights that ship without each of the features")
	flag.BoolVar(&o.ablate, "ablate", false, "also fit without each of the features")
	flag.BoolVar(&o.robust, "robust", false, "also measure on data with other habits")
	flag.Parse()
	if err := o.run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fitrecall:", err)
		os.Exit(1)
	}
}

func (o options) embedder() vector.Embedder {
	if o.embeddings == "" {
		return offline{embedder.New()}
	}
	return openai.New(config.OpenAI{BaseURL: o.embeddings, APIKey: "any", EmbeddingModel: o.model})
}

func (o options) run(ctx context.Context, out io.Writer) error {
	if o.data == "" {
		return errors.New("-data is missing: name a file of conversations with questions")
	}
	if o.pool < 1 {
		return fmt.Errorf("-pool %d: rank at least 1 match", o.pool)
	}
	pools, err := o.pools(ctx, original)
	if err != nil {
		return err
	}
	if o.leaveOneOut != "" {
		return o.writeLeaveOneOut(pools)
	}
	shipped := rank.Default()
	fmt.Fprintf(out, "%-10s %-12s %4s %6s %6s %6s %6s %6s %6s %6s\n", "ranking", "category", "n",
		"R@5", "R@10", "R@25", "B500", "B1000", "B2000", "B3000")
	report(out, pools, "index", func(p pool, i int) float64 { return p.candidates[i].Score })
	report(out, pools, "BM25", func(p pool, i int) float64 { return p.features.Row(i)[column("turnWords")] })
	report(out, pools, "shipped", func(p pool, i int) float64 { return shipped.Score(p.features.Row(i)) })
	models := leaveOneOut(pools, nil)
	report(out, pools, "fitted", held(models))
	full := fitRanking(pools, nil)
	fitted := calibrate(pools, full)
	reportNoise(out, pools, models)
	if o.robust {
		if err := o.reportVariants(ctx, out, models); err != nil {
			return err
		}
	}
	if o.features {
		reportFeatures(out, pools, shipped)
	}
	if o.ablate {
		for j, name := range rank.Names {
			if full.weights[j] != 0 {
				reportOne(out, pools, "without "+name, held(leaveOneOut(pools, []string{name})))
			}
		}
	}
	return o.write(out, fitted, full)
}

// reportFeatures prints what weights find without each feature, the other weights as they are.
func reportFeatures(out io.Writer, pools []pool, w *rank.Weights) {
	for j, name := range rank.Names {
		if weight := w.Features[name]; weight != 0 {
			reportOne(out, pools, "shipped without "+name, func(p pool, i int) float64 {
				row := p.features.Row(i)
				return w.Score(row) - weight*row[j]
			})
		}
	}
}

func (o options) pools(ctx context.Context, v variant) ([]pool, error) {
	samples, err := readSamples(o.data, v)
	if err != nil {
		return nil, err
	}
	if err := o.check(samples); err != nil {
		return nil, err
	}
	return readPools(ctx, samples, o.embedder(), o.pool)
}

// check refuses data that no weights can be fitted on.
func (o options) check(samples []sample) error {
	questions := 0
	for _, s := range samples {
		if len(s.messages) == 0 {
			return fmt.Errorf("%s: %s has no message: remove it", o.data, s.id)
		}
		questions += len(s.questions)
	}
	switch {
	case questions == 0:
		return fmt.Errorf("%s has no question with evidence: name the messages that hold each answer", o.data)
	case len(samples) == 1:
		return fmt.Errorf("%s has one conversation: add another one, as each is measured by weights of the others", o.data)
	}
	return nil
}

// held scores each pool by the model that has not seen its conversation.
func held(models []model) func(p pool, i int) float64 {
	return func(p pool, i int) float64 { return models[p.sample].score(p.features.Row(i)) }
}

// leaveOneOut fits a model for each conversation, on the others.
func leaveOneOut(pools []pool, skip []string) []model {
	count := 0
	for _, p := range pools {
		count = max(count, p.sample+1)
	}
	models := make([]model, count)
	for n := range models {
		models[n] = fitRanking(without(pools, n), skip)
	}
	return models
}

// without returns the pools of all conversations but one.
func without(pools []pool, sample int) []pool {
	return slices.DeleteFunc(slices.Clone(pools), func(p pool) bool { return p.sample == sample })
}

func (o options) reportVariants(ctx context.Context, out io.Writer, models []model) error {
	for _, v := range variants {
		pools, err := o.pools(ctx, v)
		if err != nil {
			return err
		}
		reportOne(out, pools, string(v)+", index", func(p pool, i int) float64 { return p.candidates[i].Score })
		reportOne(out, pools, string(v)+", fitted", held(models))
	}
	return nil
}

// writeLeaveOneOut writes the weights that leave out each conversation.
func (o options) writeLeaveOneOut(pools []pool) error {
	for n, m := range leaveOneOut(pools, nil) {
		rest, out := without(pools, n), ""
		for _, p := range pools {
			if p.sample == n {
				out = p.conversation
			}
		}
		text, err := o.encode(calibrate(rest, m), m, " without "+out)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(o.leaveOneOut, out+".json"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// write prints the weights as JSON, and writes them to the file that is named.
func (o options) write(out io.Writer, c calibration, m model) error {
	text, err := o.encode(c, m, "")
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil || o.out == "" {
		return err
	}
	return os.WriteFile(o.out, text, 0o644)
}

// encode returns weights as JSON. The part says which conversations of the data they were fitted on.
func (o options) encode(c calibration, m model, part string) ([]byte, error) {
	data := filepath.Base(o.data) + part + ", offline embedding"
	if o.embeddings != "" {
		data = filepath.Base(o.data) + part + ", " + o.model
	}
	text, err := json.MarshalIndent(rank.Weights{
		Date: time.Now().UTC().Format(time.DateOnly), Data: data,
		Features: c.weights(m), Intercept: round(c.intercept), Noise: noise,
	}, "", "  ")
	return append(text, '\n'), err
}
