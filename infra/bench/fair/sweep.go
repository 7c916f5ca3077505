package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/client"
)

const (
	// restingSessions is how many sessions of one user come to rest at once, createdAtOnce how many are created at a time.
	restingSessions, createdAtOnce = 64, 8
	// settleTime is how long the sweep may take to all of them.
	settleTime = 2 * time.Minute
	// maxSweepRatio is how much longer the median may take beside them.
	maxSweepRatio = 1.5
	// burst is how many requests a user makes, in a minute of the clock.
	burst = 1500
)

// swept is how long the sweep takes to a user's summary, alone and beside a user whose sessions are due at once. It has
// the times of all rounds.
type swept struct {
	Alone  []time.Duration `json:"alone"`
	Beside []time.Duration `json:"beside"`
}

// measure plays the rounds, each with users of its own. Nobody leaves a session: all are summarised because they rest.
func (s *swept) measure(ctx context.Context, base string, rounds int) error {
	for round := range rounds {
		if err := s.play(ctx, base, fmt.Sprint(round)); err != nil {
			return err
		}
	}
	return nil
}

// play measures one round, and waits until the sweep has nothing left of it.
func (s *swept) play(ctx context.Context, base, round string) error {
	alone, err := timeSummary(ctx, base, "rests-alone-"+round, fillSession)
	if err != nil {
		return err
	}
	other, err := client.New(base).As(ctx, "rests-often-"+round)
	if err != nil {
		return err
	}
	var filled errgroup.Group
	filled.SetLimit(createdAtOnce)
	for n := range restingSessions {
		filled.Go(func() error { return fillSession(ctx, other, n, 4) })
	}
	if err := filled.Wait(); err != nil {
		return err
	}
	beside, err := timeSummary(ctx, base, "rests-beside-"+round, fillSession)
	if err != nil {
		return err
	}
	s.Alone, s.Beside = append(s.Alone, alone), append(s.Beside, beside)
	limit := map[string]any{"timeoutMs": settleTime.Milliseconds()}
	return client.New(base).Do(ctx, http.MethodPost, "/dev/settle", limit, nil)
}

// measureRequests makes requests as fast as it can within one minute of the clock, and counts those that are not
// refused.
func (r *result) measureRequests(ctx context.Context, base string, progress func(string)) error {
	progress("requests")
	api, err := client.New(base).As(ctx, "asks")
	if err != nil {
		return err
	}
	if s := time.Now().Second(); s > 25 {
		time.Sleep(time.Duration(60-s) * time.Second)
	}
	minute := time.Now().Minute()
	for range burst {
		switch err := api.Do(ctx, http.MethodGet, "/v1/usage", nil, nil); {
		case err == nil:
			r.Accepted++
		case !isRefused(err):
			return err
		}
		if time.Now().Minute() != minute {
			return fmt.Errorf("%d requests took more than a minute", burst)
		}
	}
	return nil
}
