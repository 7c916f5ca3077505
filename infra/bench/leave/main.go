// Command leave measures how soon a session that its user left has a summary. It starts a local
// stack and plays users who say something to the coach and then write in the program designer. It prints the times from
// the acknowledgement of that message until the coach's session has a summary that covers all of it, with a model that
// answers at once and with one that takes a second. It writes a section of a document, and fails when a bar is not met.
//
//	go run ./infra/bench/leave [-sessions 500] [-users 4] [-docs folder]
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/bench"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
)

const (
	// slowModel is how long each call of the slow model takes, summaries and embeddings alike.
	slowModel = time.Second
	// maxTime is how long the slowest hundredth may wait for a summary.
	maxTime = 5 * time.Second
	// poll is the time between two looks at a session.
	poll = 20 * time.Millisecond
)

func main() {
	sessions := flag.Int("sessions", 500, "how many sessions are left with each model")
	users := flag.Int("users", 4, "how many users leave a session at the same time")
	bench.Command{
		Name: "leave",
		Measure: func(ctx context.Context, endpoint string, progress func(string)) (bench.Result, error) {
			return measure(ctx, endpoint, *sessions, *users, progress)
		},
	}.Main()
}

// row is what was measured with one model.
type row struct {
	Model string          `json:"model"`
	Times []time.Duration `json:"times"`
	mu    sync.Mutex      // guards Times while users leave sessions
}

func (r *row) p99() time.Duration { return report.Quantile(r.Times, 0.99) }

type result struct {
	Rows  []*row `json:"rows"`
	Users int    `json:"users"`
}

func measure(
	ctx context.Context, endpoint string, sessions, users int, progress func(string),
) (bench.Result, error) {
	out := result{Users: users, Rows: []*row{{Model: "answers at once"}, {Model: fmt.Sprint("takes ", slowModel)}}}
	environment := []string{"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint, "LOG_LEVEL=ERROR"}
	err := launch.With(ctx, environment, func(stack *launch.Stack) error {
		for i, latency := range []time.Duration{0, slowModel} {
			progress(fmt.Sprintf("%d sessions, the model %s", sessions, out.Rows[i].Model))
			faults := map[string]any{"openai": map[string]any{"latencyMs": latency.Milliseconds()}}
			if err := client.New(stack.Base).Do(ctx, http.MethodPost, "/dev/faults", faults, nil); err != nil {
				return err
			}
			if err := out.Rows[i].play(ctx, stack.Base, fmt.Sprint("leaver-", i), sessions, users); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// play measures sessions that are left, each by a user of its own, some at a time.
func (r *row) play(ctx context.Context, base, name string, sessions, users int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(users)
	for i := range sessions {
		group.Go(func() error {
			took, err := leave(ctx, base, fmt.Sprint(name, "-", i))
			r.mu.Lock()
			defer r.mu.Unlock()
			r.Times = append(r.Times, took)
			return err
		})
	}
	return group.Wait()
}

var said = []map[string]any{
	{"role": "user", "content": "My left knee hurts when I squat below parallel. " +
		"I moved to the garage, so I have bands only."},
	{"role": "assistant", "content": "Then we keep the squats high and add banded glute bridges."},
	{"role": "user", "content": "Good. Remind me on Friday to send you the video of the last set."},
}

// leave lets a user talk to the coach and then write in the program designer. It returns the time from the answer to
// that until the coach's session has a summary of all that was said.
func leave(ctx context.Context, base, user string) (time.Duration, error) {
	api, err := client.New(base).As(ctx, user)
	if err != nil {
		return 0, err
	}
	for context, id := range map[string]string{"coach_conversation": "coach", "program_designer": "designer"} {
		session := map[string]any{"context": context, "coachId": "coach", "sessionId": id}
		if err := api.Do(ctx, http.MethodPost, "/v1/sessions", session, nil); err != nil {
			return 0, err
		}
	}
	if err := appendTo(ctx, api, "coach", said); err != nil {
		return 0, err
	}
	goesOn := []map[string]any{{"role": "user", "content": "Please swap the hip thrusts on Tuesday."}}
	if err := appendTo(ctx, api, "designer", goesOn); err != nil {
		return 0, err
	}
	for began := time.Now(); ; {
		var session struct {
			Summary struct{ CoveredThrough int }
		}
		if err := api.Do(ctx, http.MethodGet, "/v1/sessions/coach", nil, &session); err != nil {
			return 0, err
		}
		if session.Summary.CoveredThrough == len(said) {
			return time.Since(began), nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(poll):
		}
	}
}

func appendTo(ctx context.Context, api *client.Client, session string, messages []map[string]any) error {
	return api.Do(ctx, http.MethodPost, "/v1/sessions/"+session+"/messages", map[string]any{"messages": messages}, nil)
}

// Note says how many users leave a session at a time.
func (r result) Note() string {
	return fmt.Sprintf("a local stack; %d users leave a session at a time", r.Users)
}

// Tables returns the times with each model.
func (r result) Tables() []report.Titled {
	t := report.NewTitled("From leaving a session to its summary", "the model", "sessions", "median", "p99", "longest")
	for _, row := range r.Rows {
		t.Add(row.Model, fmt.Sprint(len(row.Times)), seconds(report.Median(row.Times)), seconds(row.p99()),
			seconds(report.Quantile(row.Times, 1)))
	}
	return []report.Titled{t}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// Bars returns the bar of each model.
func (r result) Bars() []report.Bar {
	var bars []report.Bar
	for _, row := range r.Rows {
		bars = append(bars, report.AtMost("p99 in seconds, the model "+row.Model, row.p99().Seconds(), maxTime.Seconds()))
	}
	return bars
}
