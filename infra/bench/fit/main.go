// Command fit fits the weights of the ranking of recall to questions about conversations, and writes them.
//
//	go -C infra/bench run ./fit -data "locomo.json realtalk.json" [-embeddings http://127.0.0.1:8088/v1]
//	  [-dimensions 768] [-out weights.json] [-leave-one-out folder]
//
// It indexes each conversation as the service does, in memory, and takes the same pool of matches for each question.
// Then it prints which share of the evidence is among the first k messages (R@k) and within a budget of tokens (B),
// beside the index's own score and BM25: for weights that were fitted on the other conversations, and for weights that
// were fitted on the other data sets. Each file is a data set. It has LoCoMo's form or that of package dataset.
//
// Weights are not written if they find less than the index or BM25 by more than noise, on a data set or in a class of
// its questions, where they were fitted on the other conversations or on the other data sets.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/local/embedder"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/vector"
)

// offline embeds by the offline model.
type offline struct {
	*embedder.Embedder
	dimensions int
}

func (o offline) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = o.Embedder.Embed(t, o.dimensions)
	}
	return out, nil
}

type options struct {
	data, embeddings, model, out, leaveOneOut string
	dimensions                                int
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "", "files with the conversations and questions, with spaces between them (required)")
	flag.StringVar(&o.embeddings, "embeddings", "", "base URL of an embedding service; the offline model by default")
	flag.StringVar(&o.model, "model", "all-MiniLM-L6-v2", "embedding model of that service")
	flag.IntVar(&o.dimensions, "dimensions", 0, "ask for vectors of so many dimensions; the model's own by default")
	flag.StringVar(&o.out, "out", "", "file to write the weights to")
	flag.StringVar(&o.leaveOneOut, "leave-one-out", "",
		"only fit, without each conversation and each file, and write the weights to id.json and set-file.json here")
	flag.Parse()
	if err := o.run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fit-recall:", err)
		os.Exit(1)
	}
}

func (o options) embedder() vector.Embedder {
	if o.embeddings == "" {
		return offline{embedder.New(), cmp.Or(o.dimensions, embedder.DefaultDimensions)}
	}
	return openai.New(config.OpenAI{
		BaseURL: o.embeddings, APIKey: "any", Embedding: config.Embedding{Model: o.model, Dimensions: o.dimensions},
	})
}

func (o options) run(ctx context.Context, out io.Writer) error {
	if o.data == "" {
		return errors.New("-data is missing: name a file of conversations with questions")
	}
	pools, err := o.pools(ctx)
	if err != nil {
		return err
	}
	if o.leaveOneOut != "" {
		return o.writeLeaveOneOut(pools)
	}
	unseen := []row{{"other conversations", byValue(leaveOut(pools, byPerson).probabilities)}}
	if kinds, _ := grouped(pools, byKind); len(kinds) > 1 {
		unseen = append(unseen, row{"other data sets", byValue(leaveOut(pools, byKind).probabilities)})
	}
	reportAll(out, pools, unseen)
	for _, u := range unseen {
		if err := checkFloor(pools, u.name, u.ranking); err != nil {
			return err
		}
	}
	return o.write(out, fit(pools))
}

// reportAll prints the tables of a ranking by weights that were fitted on other parts of the data than is asked about,
// beside its baselines.
func reportAll(out io.Writer, pools []pool, unseen []row) {
	rows := []row{
		{"index", byIndex}, {"BM25", byWords}, {"shipped", byValue(fittedOf(rank.Default()).probabilities)},
	}
	for _, u := range unseen {
		rows = append(rows, row{"fitted on " + u.name, u.ranking})
	}
	report(out, pools, bySet, rows...)
	report(out, pools, byCategory, rows...)
}

// pools reads the data sets.
func (o options) pools(ctx context.Context) ([]pool, error) {
	sets, err := dataset.ReadSets(o.data)
	if err != nil {
		return nil, err
	}
	if err := o.check(sets); err != nil {
		return nil, err
	}
	return readPools(ctx, sets, o.embedder())
}

// check refuses data that no weights can be fitted on.
func (o options) check(sets []dataset.Set) error {
	conversations, questions := 0, 0
	for _, set := range sets {
		for _, c := range set.Conversations {
			if c.Messages() == 0 {
				return fmt.Errorf("%s: %s has no message: remove it", set.Name, c.ID)
			}
			conversations, questions = conversations+1, questions+len(c.Questions)
		}
	}
	switch {
	case questions == 0:
		return fmt.Errorf("%s has no question with evidence: name the messages that hold each answer", o.data)
	case conversations == 1:
		return fmt.Errorf("%s has one conversation: add another one, as each is measured by weights of the others", o.data)
	}
	return nil
}

// leftOut has for each group of pools the weights that were fitted on all others.
type leftOut struct {
	group   func(p pool) string
	weights map[string]fitted
}

func leaveOut(pools []pool, group func(p pool) string) leftOut {
	l := leftOut{group, map[string]fitted{}}
	for _, p := range pools {
		name := group(p)
		if _, done := l.weights[name]; !done {
			l.weights[name] = fit(slices.DeleteFunc(slices.Clone(pools), func(p pool) bool { return group(p) == name }))
		}
	}
	return l
}

// probabilities are those of the records of a pool by weights that have not seen the pool.
func (l leftOut) probabilities(p pool) []float64 { return l.weights[l.group(p)].probabilities(p) }

// writeLeaveOneOut writes the weights that leave out each conversation and, of several data sets, each set. It also
// writes what the index's own score finds.
func (o options) writeLeaveOneOut(pools []pool) error {
	files := map[string]any{"index": indexShares(pools)}
	people, kinds := leaveOut(pools, byPerson), leftOut{}
	if names, _ := grouped(pools, byKind); len(names) > 1 {
		kinds = leaveOut(pools, byKind)
	}
	for _, p := range pools {
		files[p.conversation] = o.weights(people.weights[byPerson(p)], " without "+p.conversation)
		if w, known := kinds.weights[byKind(p)]; known {
			files["set-"+p.set] = o.weights(w, " without set-"+p.set)
		}
	}
	for name, content := range files {
		text, err := encode(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(o.leaveOneOut, name+".json"), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// indexShares returns what the index's own score finds, by the data set and the class of questions.
func indexShares(pools []pool) map[string]map[string]cutoff.Shares {
	out := map[string]map[string]cutoff.Shares{}
	sets, groups := grouped(pools, bySet)
	for _, set := range sets {
		out[set] = map[string]cutoff.Shares{evidence.All: mean(groups[set], byIndex)}
		names, classes := grouped(groups[set], func(p pool) string { return p.category })
		for _, name := range names {
			out[set][name] = mean(classes[name], byIndex)
		}
	}
	return out
}

func (o options) write(out io.Writer, f fitted) error {
	text, err := encode(o.weights(f, ""))
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil || o.out == "" {
		return err
	}
	return os.WriteFile(o.out, text, 0o644)
}

// noise is the probability below which a record is noise. Nearly all questions have a record above it on each data set,
// and most small talk has none.
const noise = 0.001

// weights returns a fit as the service reads it. The part says which conversations of the data it was fitted on.
func (o options) weights(f fitted, part string) rank.Weights {
	var names []string
	for path := range strings.FieldsSeq(o.data) {
		names = append(names, dataset.NameOf(path))
	}
	model := "offline embedding"
	if o.embeddings != "" {
		model = o.model
	}
	return rank.Weights{
		Date: time.Now().UTC().Format(time.DateOnly), Data: strings.Join(names, ", ") + part + "; " + model,
		Features: f.features(), Intercept: f.intercept, Noise: noise,
	}
}

func encode(content any) ([]byte, error) {
	text, err := json.MarshalIndent(content, "", "  ")
	return append(text, '\n'), err
}
