package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/client"
)

const (
	// answersAtOnce and dailyTokens are the limits of the stack on which answers are counted.
	answersAtOnce, dailyTokens = 4, 100_000
	// erasures is how often the user is erased while answers are under way, and chatsAtOnce how many are asked for each
	// time.
	erasures, chatsAtOnce = 5, 8
)

// answers is what one user had of the limits of answers.
type answers struct {
	// Held is the most answers that were under way at once, of Asked.
	Held  int `json:"held"`
	Asked int `json:"asked"`
	// Past is by how many tokens the day's quota was passed, Largest the tokens of the largest answer.
	Past    int64 `json:"past"`
	Largest int64 `json:"largest"`
	mu      sync.Mutex
}

// hold asks for more answers than may be under way, and erases the user, in turn.
func (a *answers) hold(ctx context.Context, base string) error {
	api, err := client.New(base).As(ctx, "holds")
	if err != nil {
		return err
	}
	var open, most atomic.Int64
	var all sync.WaitGroup
	for round := range erasures {
		session := fmt.Sprint("s", round)
		if err := openSession(ctx, api, session); err != nil {
			return err
		}
		begun := make(chan struct{}, chatsAtOnce)
		for range chatsAtOnce {
			a.Asked++
			all.Go(func() {
				report := sync.OnceFunc(func() { begun <- struct{}{} })
				isOpen := false
				_ = api.Chat(ctx, map[string]any{"sessionId": session, "message": "How was my week?"},
					func(client.Event) error {
						if !isOpen {
							isOpen = true
							for n := open.Add(1); n > most.Load(); {
								most.Store(n)
							}
							report()
						}
						return nil
					})
				if isOpen {
					open.Add(-1)
				}
				report()
			})
		}
		for range chatsAtOnce {
			<-begun
		}
		if err := api.Do(ctx, http.MethodDelete, "/v1/user", nil, nil); err != nil {
			return err
		}
	}
	all.Wait()
	a.Held = int(most.Load())
	return nil
}

// spend asks for answers at once until the day's tokens are spent.
func (a *answers) spend(ctx context.Context, base string) error {
	api, err := newUser(ctx, base, "spends")
	if err != nil {
		return err
	}
	var usage struct{ Used, Limit int64 }
	for usage.Limit == 0 || usage.Used < usage.Limit {
		var all errgroup.Group
		for range chatsAtOnce {
			all.Go(func() error { return a.chat(ctx, api) })
		}
		if err := all.Wait(); err != nil {
			return err
		}
		if err := api.Do(ctx, http.MethodGet, "/v1/usage", nil, &usage); err != nil {
			return err
		}
	}
	a.Past = usage.Used - usage.Limit
	return nil
}

// chat asks for one answer and keeps the largest. It is no error that it is refused.
func (a *answers) chat(ctx context.Context, api *client.Client) error {
	err := api.Chat(ctx, map[string]any{"sessionId": "s", "message": "What did I tell you about my knee?"},
		func(e client.Event) error {
			var done struct{ Usage struct{ TotalTokens int64 } }
			if e.Name != "done" {
				return nil
			}
			if err := json.Unmarshal(e.Data, &done); err != nil {
				return err
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.Largest = max(a.Largest, done.Usage.TotalTokens)
			return nil
		})
	problem, isProblem := errors.AsType[*client.Problem](err)
	if isRefused(err) || isProblem && problem.Status == http.StatusConflict {
		return nil
	}
	return err
}
