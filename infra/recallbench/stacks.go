package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/dataset"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/recallbench/evidence"
	"github.com/throughline/throughline/internal/recall/rank"
)

// weightsVariable names the file of weights that a stack ranks by.
const weightsVariable = "RECALL_WEIGHTS"

// stacks starts stacks one after the other on the same data.
type stacks struct {
	options
	folder, program string
}

// measureStacks measures a fresh stack, and then the same data again by other weights.
func (o options) measureStacks(ctx context.Context, conversations []dataset.Conversation, r *result) (err error) {
	folder, err := os.MkdirTemp("", "throughline-recallbench-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	program, err := launch.Build(ctx, folder)
	if err != nil {
		return err
	}
	s := stacks{o, folder, program}
	var b *evidence.Bench
	err = s.on(ctx, "", func(api *client.Client) (err error) {
		b, err = o.measure(ctx, api, conversations, r)
		return err
	})
	if err == nil && o.leaveOneOut {
		err = s.leaveOneOut(ctx, b, conversations, r)
	}
	if err == nil && o.features {
		err = s.leaveFeaturesOut(ctx, b, r)
	}
	return err
}

// on starts a stack that ranks by a file of weights, or by those that ship, and stops it when the function is done.
func (s stacks) on(ctx context.Context, weights string, do func(api *client.Client) error) (err error) {
	environment := []string{"LOG_LEVEL=ERROR", weightsVariable + "=" + weights}
	if s.options.leaveOneOut || s.options.features {
		environment = append(environment, "DATA_DIR="+filepath.Join(s.folder, "data"))
	}
	if s.embeddings != "" {
		environment = append(environment, "OPENAI_EMBEDDING_BASE_URL="+s.embeddings, "OPENAI_EMBEDDING_MODEL="+s.model,
			"OPENAI_EMBEDDING_DIMENSIONS="+strconv.Itoa(s.dimensions))
	}
	stack, err := launch.Start(ctx, s.program, os.Stderr, environment...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Stop()) }()
	return do(client.New(stack.Base))
}

// leaveOneOut asks the questions about each conversation, ranked by weights that were fitted on the others.
func (s stacks) leaveOneOut(
	ctx context.Context, b *evidence.Bench, conversations []dataset.Conversation, r *result,
) error {
	arguments := []string{"run", "./infra/fitrecall", "-data", s.data, "-leave-one-out", s.folder}
	if s.embeddings != "" {
		arguments = append(arguments, "-embeddings", s.embeddings, "-model", s.model)
	}
	fit := exec.CommandContext(ctx, "go", arguments...)
	fit.Env = launch.BuildEnv()
	if out, err := fit.CombinedOutput(); err != nil {
		return fmt.Errorf("fit weights: %w\n%s", err, out)
	}
	var found []evidence.Scores
	var prompts []evidence.Shares
	for _, c := range conversations {
		err := s.on(ctx, filepath.Join(s.folder, c.ID+".json"), func(api *client.Client) error {
			one := b.On(api, c.ID)
			scores, err := one.Recall(ctx)
			if err != nil {
				return err
			}
			shares, err := one.Prompts(ctx)
			found, prompts = append(found, scores), append(prompts, shares)
			return err
		})
		if err != nil {
			return err
		}
	}
	r.HeldOut = evidence.Merge(found)
	r.HeldOutPrompts = evidence.MergeShares(prompts, found)
	return nil
}

// leaveFeaturesOut asks all questions without each feature that has a weight.
func (s stacks) leaveFeaturesOut(ctx context.Context, b *evidence.Bench, r *result) error {
	shipped := rank.Default()
	r.Without = map[string]*evidence.Score{}
	for _, feature := range slices.Sorted(maps.Keys(shipped.Features)) {
		other := *shipped
		other.Features = maps.Clone(shipped.Features)
		delete(other.Features, feature)
		text, err := json.Marshal(other)
		if err != nil {
			return err
		}
		weights := filepath.Join(s.folder, "without-feature.json")
		if err := os.WriteFile(weights, text, 0o600); err != nil {
			return fmt.Errorf("write weights: %w", err)
		}
		err = s.on(ctx, weights, func(api *client.Client) error {
			scores, err := b.On(api, "").Recall(ctx)
			r.Without[feature] = scores[evidence.All]
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
