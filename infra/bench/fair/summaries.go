package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/client"
)

const (
	// modelTime is how long the model takes for an answer, as a hosted one does.
	modelTime = 800 * time.Millisecond
	// busyMessages is what the other user says in each session, one a second.
	busyMessages = 20
	// summaryPace is the time between two sessions of the user who is measured, summaryWait how long a summary may take.
	summaryPace, summaryWait = 2 * time.Second, time.Minute
	// maxSummaryRatio is how much longer the median may take beside sessions that are read for memories.
	maxSummaryRatio = 1.5
)

// summaryRow is how long a user's summaries take beside another user who creates, fills and leaves a session a second.
type summaryRow struct {
	Load   string          `json:"load"`
	Times  []time.Duration `json:"times"` // from leaving a session to its summary
	memory bool            // of the other user
}

// play measures one slice. The other user wants to be remembered, or not: then nothing is read for memories, and the
// summaries of the user who is measured take what they take for other reasons.
func (r *summaryRow) play(ctx context.Context, base, name string, slice time.Duration) error {
	other, err := client.New(base).As(ctx, "busy-"+name)
	if err != nil {
		return err
	}
	if err := other.Do(ctx, http.MethodPut, "/v1/preferences", map[string]any{"memory": r.memory}, nil); err != nil {
		return err
	}
	busy, stop := context.WithTimeout(ctx, slice)
	defer stop()
	var all errgroup.Group
	var mu sync.Mutex
	every(busy, time.Second, &all, func(n int) error { return leaveSession(ctx, other, n, busyMessages) })
	every(busy, summaryPace, &all, func(n int) error {
		took, err := timeSummary(ctx, base, fmt.Sprint("waits-", name, "-", n), leaveSession)
		mu.Lock()
		defer mu.Unlock()
		r.Times = append(r.Times, took)
		return err
	})
	return all.Wait()
}

// every calls do at each tick until the context ends, and does not wait for it.
func every(ctx context.Context, pace time.Duration, all *errgroup.Group, do func(n int) error) {
	all.Go(func() error {
		ticks := time.NewTicker(pace)
		defer ticks.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return nil
			case <-ticks.C:
				all.Go(func() error { return do(n) })
			}
		}
	})
}

// leaveSession fills a session and leaves it.
func leaveSession(ctx context.Context, api *client.Client, n, messages int) error {
	if err := fillSession(ctx, api, n, messages); err != nil {
		return err
	}
	return api.Do(ctx, http.MethodPost, fmt.Sprint("/v1/sessions/session", n, "/leave"), nil, nil)
}

// fillSession creates a session and appends messages to it in one call.
func fillSession(ctx context.Context, api *client.Client, n, messages int) error {
	id := fmt.Sprint("session", n)
	if err := openSession(ctx, api, id); err != nil {
		return err
	}
	said := make([]any, messages)
	for i := range said {
		text := fmt.Sprintf("Set %d of session %d went well, at %d kg.", i, n, 60+i)
		said[i] = map[string]any{"role": "user", "content": text}
	}
	return api.Do(ctx, http.MethodPost, "/v1/sessions/"+id+"/messages", map[string]any{"messages": said}, nil)
}

// timeSummary has a new user fill or leave a session and waits for its summary.
func timeSummary(
	ctx context.Context, base, user string, use func(ctx context.Context, api *client.Client, n, messages int) error,
) (time.Duration, error) {
	api, err := client.New(base).As(ctx, user)
	if err != nil {
		return 0, err
	}
	if err := use(ctx, api, 0, 4); err != nil {
		return 0, err
	}
	began := time.Now()
	for time.Since(began) < summaryWait {
		var session struct{ Summary *struct{} }
		if err := api.Do(ctx, http.MethodGet, "/v1/sessions/session0", nil, &session); err != nil {
			return 0, err
		}
		if session.Summary != nil {
			return time.Since(began), nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return summaryWait, nil
}
