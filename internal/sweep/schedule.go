package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/parallel"
)

const (
	// fewDue is how many records one invocation works on by itself. It is done with them in half a minute.
	fewDue = 500
	// lookLimit is how many records of each shard are counted.
	lookLimit = 100
	// maxRounds bounds how often invocations hand over to each other. Lambda ends a chain of about 16 invocations that
	// start each other, because it could be a loop without an end ("Use Lambda recursive loop detection to prevent
	// infinite loops"). After that the schedule goes on, within a minute.
	maxRounds = 10
	// leaseTime is how long an invocation without a deadline has its shards, and leaseReserve for how long an invocation
	// has them after its deadline.
	leaseTime    = 2 * time.Minute
	leaseReserve = 10 * time.Second
)

// Sweep does a task. Its error says that shards could not be read or workers not be started.
func (s *Service) Sweep(ctx context.Context, t Task) (Swept, error) {
	swept, err := s.sweep(ctx, t)
	return swept, errors.Join(err, s.saveStages(ctx))
}

func (s *Service) sweep(ctx context.Context, t Task) (Swept, error) {
	if len(t.Shards) > 0 {
		return s.workOn(ctx, t.Shards, t)
	}
	due, swept, err := s.look(ctx)
	total, shards := 0, []Shard(nil)
	for shard, n := range due {
		if total += n; n > 0 {
			shards = append(shards, shard)
		}
	}
	if total > fewDue {
		started, startErr := s.start(ctx, shards)
		swept.Started = started
		return swept, errors.Join(err, startErr)
	}
	done, workErr := s.workOn(ctx, shards, t)
	done.Behind = swept.Behind
	return done, errors.Join(err, workErr)
}

// look counts the records that are due in each shard, up to a limit, and finds out how far the sweep is behind.
func (s *Service) look(ctx context.Context) (due map[Shard]int, swept Swept, err error) {
	shards := AllShards()
	pages, failures, now := make([][]Due, len(shards)), make([]error, len(shards)), s.Now()
	parallel.Each(len(shards), len(shards), func(i int) {
		pages[i], failures[i] = s.Store.Due(ctx, shards[i], now, nil, lookLimit)
	})
	due = map[Shard]int{}
	for i, page := range pages {
		if due[shards[i]] = len(page); len(page) > 0 {
			swept.Behind = max(swept.Behind, now.Sub(page[0].DueAt))
		}
	}
	return due, swept, firstOf("look at the shards", failures)
}

// firstOf returns the first of the failures of several shards, and says how many there are. An outage makes all of them
// fail alike, and one text for each would hide what failed. It returns nil where there is none.
func firstOf(what string, failures []error) error {
	failed := slices.DeleteFunc(slices.Clone(failures), func(err error) bool { return err == nil })
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d of %d failed, the first: %w", what, len(failed), len(failures), failed[0])
}

// start starts a worker for each shard.
func (s *Service) start(ctx context.Context, shards []Shard) (started int, err error) {
	failures := make([]error, len(shards))
	parallel.Each(len(shards), len(shards), func(i int) {
		failures[i] = s.Invoke(ctx, Task{Shards: shards[i : i+1]})
	})
	for _, failure := range failures {
		if failure == nil {
			started++
		}
	}
	return started, firstOf("start a worker for each shard", failures)
}

// workOn works on those of the shards that nobody else works on, and hands over when work is left.
func (s *Service) workOn(ctx context.Context, shards []Shard, t Task) (Swept, error) {
	owner, until := s.NewOwner(), s.Now().Add(leaseTime)
	if end, ok := ctx.Deadline(); ok {
		until = end.Add(leaseReserve)
	}
	var leased []Shard
	var failures error
	for _, shard := range shards {
		held, err := s.Store.Lease(ctx, shard, owner, until)
		if failures = errors.Join(failures, err); held {
			leased = append(leased, shard)
		}
	}
	if len(leased) == 0 {
		return Swept{}, failures
	}
	swept, err := s.newRun(leased).work(ctx)
	failures = errors.Join(failures, err)
	for _, shard := range leased {
		failures = errors.Join(failures, s.Store.Release(ctx, shard, owner))
	}
	if swept.Left && t.Round < maxRounds {
		failures = errors.Join(failures, s.Invoke(ctx, Task{Shards: t.Shards, Round: t.Round + 1}))
	}
	return swept, failures
}
