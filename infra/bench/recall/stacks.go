package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
)

// fitCommand is the package of the program that fits weights.
const fitCommand = "github.com/throughline/throughline/infra/bench/fit"

// weightsVariable names the file of weights that a stack ranks by.
const weightsVariable = "RECALL_WEIGHTS"

// stacks starts stacks one after the other on the same data.
type stacks struct {
	options
	folder string
}

// measureStacks measures a fresh stack, and then the same data again by other weights.
func (o options) measureStacks(ctx context.Context, sets []dataset.Set, r *result) (err error) {
	folder, err := os.MkdirTemp("", "throughline-bench-recall-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s := stacks{o, folder}
	var b *evidence.Bench
	err = s.on(ctx, "", func(api *client.Client) (err error) {
		b, err = o.measure(ctx, api, sets, r)
		return err
	})
	if err == nil {
		err = s.leaveOut(ctx, b, sets, r)
	}
	return err
}

// on starts a stack that ranks by a file of weights, or by those that ship, and stops it when the function is done.
func (s stacks) on(ctx context.Context, weights string, do func(api *client.Client) error) error {
	environment := []string{
		"LOG_LEVEL=ERROR", weightsVariable + "=" + weights, "DATA_DIR=" + filepath.Join(s.folder, "data"),
	}
	if s.embeddings != "" {
		environment = append(environment, "OPENAI_EMBEDDING_BASE_URL="+s.embeddings,
			"OPENAI_EMBEDDING_MODEL="+s.model+"@"+strconv.Itoa(s.dimensions))
	}
	return launch.With(ctx, environment, func(stack *launch.Stack) error { return do(client.New(stack.Base)) })
}

// leaveOut asks the questions again, ranked by weights that were fitted on the other data sets and then by weights
// that were fitted on all other conversations. It adds what the index's own score finds.
func (s stacks) leaveOut(ctx context.Context, b *evidence.Bench, sets []dataset.Set, r *result) error {
	index, err := s.fit(ctx)
	if err != nil {
		return err
	}
	for n, set := range sets {
		r.Sets[n].addIndex(index[set.Name])
		if len(sets) > 1 {
			unseen, err := s.ask(ctx, "set-"+set.Name, b, set.Has)
			if err != nil {
				return err
			}
			r.Sets[n].Rankings = append(r.Sets[n].Rankings, ranking{onOtherSets, evidence.Mean(unseen)})
		}
		var found []evidence.Found
		for _, c := range set.Conversations {
			part, err := s.ask(ctx, c.ID, b, func(other *dataset.Conversation) bool { return other.ID == c.ID })
			if err != nil {
				return err
			}
			found = append(found, part...)
		}
		r.Sets[n].Rankings = append(r.Sets[n].Rankings, ranking{onOthers, evidence.Mean(found)})
	}
	return nil
}

// indexShares are the shares that the index's own score finds, by the data set and the class of questions.
type indexShares map[string]map[string]cutoff.Shares

// fit fits the weights that leave something out. It returns what the index's own score finds.
func (s stacks) fit(ctx context.Context) (index indexShares, err error) {
	arguments := []string{"run", fitCommand, "-data", s.data, "-leave-one-out", s.folder}
	if s.embeddings != "" {
		arguments = append(arguments, "-embeddings", s.embeddings, "-model", s.model)
	}
	fit := exec.CommandContext(ctx, "go", arguments...)
	fit.Env = launch.BuildEnv()
	if out, err := fit.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("fit weights: %w\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(s.folder, "index.json"))
	if err != nil {
		return nil, fmt.Errorf("read what the index finds: %w", err)
	}
	return index, json.Unmarshal(text, &index)
}

// ask asks the questions about some conversations on a stack that ranks by a file of weights.
func (s stacks) ask(
	ctx context.Context, weights string, b *evidence.Bench, keeps func(c *dataset.Conversation) bool,
) (found []evidence.Found, err error) {
	err = s.on(ctx, filepath.Join(s.folder, weights+".json"), func(api *client.Client) (err error) {
		found, err = ask(ctx, b.On(api, keeps))
		return err
	})
	return found, err
}
