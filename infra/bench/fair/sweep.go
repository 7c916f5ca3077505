package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/parallel"
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

// swept is how long the sweep takes to a user's summary, alone and beside a user whose sessions are due at once.
type swept struct {
	Alone  time.Duration `json:"alone"`
	Beside time.Duration `json:"beside"`
	// WorstAlone and WorstBeside are the longest.
	WorstAlone  time.Duration `json:"worstAlone"`
	WorstBeside time.Duration `json:"worstBeside"`

	alone, beside []time.Duration // one of each a round
}

func (s *swept) ratio() float64 { return float64(s.Beside) / float64(s.Alone) }

// measure plays the rounds, each with users of its own. Nobody leaves a session: all are summarised because they rest.
func (s *swept) measure(ctx context.Context, base string, rounds int) error {
	for round := range rounds {
		if err := s.play(ctx, base, fmt.Sprint(round)); err != nil {
			return err
		}
	}
	s.Alone, s.WorstAlone = report.Median(s.alone), report.Quantile(s.alone, 1)
	s.Beside, s.WorstBeside = report.Median(s.beside), report.Quantile(s.beside, 1)
	return nil
}

// play measures one round, and waits until the sweep has nothing left of it.
func (s *swept) play(ctx context.Context, base, round string) error {
	alone, err := timeResting(ctx, base, "rests-alone-"+round)
	if err != nil {
		return err
	}
	other, err := client.New(base).As(ctx, "rests-often-"+round)
	if err != nil {
		return err
	}
	if err := fillSessions(ctx, other, restingSessions); err != nil {
		return err
	}
	beside, err := timeResting(ctx, base, "rests-beside-"+round)
	if err != nil {
		return err
	}
	s.alone, s.beside = append(s.alone, alone), append(s.beside, beside)
	limit := map[string]any{"timeoutMs": settleTime.Milliseconds()}
	return client.New(base).Do(ctx, http.MethodPost, "/dev/settle", limit, nil)
}

// fillSessions fills sessions, some at a time.
func fillSessions(ctx context.Context, api *client.Client, sessions int) error {
	errs := make([]error, createdAtOnce)
	parallel.Each(createdAtOnce, createdAtOnce, func(i int) {
		for n := i; n < sessions && errs[i] == nil; n += createdAtOnce {
			errs[i] = fillSession(ctx, api, n, 4)
		}
	})
	return errors.Join(errs...)
}

// timeResting fills a session of a new user and waits for its summary.
func timeResting(ctx context.Context, base, user string) (time.Duration, error) {
	api, err := client.New(base).As(ctx, user)
	if err != nil {
		return 0, err
	}
	if err := fillSession(ctx, api, 0, 4); err != nil {
		return 0, err
	}
	return awaitSummary(ctx, api)
}

// accepted makes requests as fast as it can within one minute of the clock, and counts those that are not refused.
func accepted(ctx context.Context, base string) (int, error) {
	api, err := client.New(base).As(ctx, "asks")
	if err != nil {
		return 0, err
	}
	if s := time.Now().Second(); s > 25 {
		time.Sleep(time.Duration(60-s) * time.Second)
	}
	minute, n := time.Now().Minute(), 0
	for range burst {
		err := api.Do(ctx, http.MethodGet, "/v1/usage", nil, nil)
		problem, isProblem := errors.AsType[*client.Problem](err)
		switch {
		case err == nil:
			n++
		case !isProblem || problem.Status != http.StatusTooManyRequests:
			return n, err
		}
		if time.Now().Minute() != minute {
			return n, fmt.Errorf("%d requests took more than a minute", burst)
		}
	}
	return n, nil
}
