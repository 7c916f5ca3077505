package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/throughline/throughline/infra/client"
)

const (
	// restingSessions is how many sessions of one user come to rest at once, createdAtOnce how many are created at a time.
	restingSessions, createdAtOnce = 64, 8
	// burst is how many requests a user makes, in a minute of the clock.
	burst = 1500
)

// swept is how long the sweep takes to a user's summary, alone and beside a user whose sessions are due at once.
type swept struct {
	Alone  time.Duration `json:"alone"`
	Beside time.Duration `json:"beside"`
}

func (s *swept) ratio() float64 { return float64(s.Beside) / float64(s.Alone) }

// measure leaves nothing: the sessions are summarised because they rest.
func (s *swept) measure(ctx context.Context, base string) (err error) {
	if s.Alone, err = timeResting(ctx, base, "rests-alone"); err != nil {
		return err
	}
	other, err := client.New(base).As(ctx, "rests-often")
	if err != nil {
		return err
	}
	errs := make([]error, createdAtOnce)
	var all sync.WaitGroup
	for i := range createdAtOnce {
		all.Go(func() {
			for n := i; n < restingSessions && errs[i] == nil; n += createdAtOnce {
				errs[i] = fillSession(ctx, other, n, 4)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.Beside, err = timeResting(ctx, base, "rests-beside")
	return err
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
