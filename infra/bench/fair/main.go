// Command fair measures what a user who writes as much as the limit allows costs another user. It starts a local stack
// with the limit of the template. One user appends at a steady pace, alone and beside the other, in turn, and the times
// of the appends are compared. It prints a table, writes a section of a document, and fails when the bar is not met.
//
//	go run ./infra/bench/fair [-rounds 8] [-slice 10s] [-docs folder]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/throughline/throughline/infra/bench"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
)

const (
	// limit is the requests that a user may make in a minute, the default of template.yaml.
	limit = 600
	// pace is the time between two appends of the user who is measured.
	pace = 40 * time.Millisecond
	// maxRatio is how much longer the slowest hundredth may take beside the other user.
	maxRatio = 1.2
)

func main() {
	rounds := flag.Int("rounds", 8, "how often each load is measured, in turn")
	slice := flag.Duration("slice", 10*time.Second, "how long each is measured in a round")
	bench.Command{
		Name: "fair",
		Measure: func(ctx context.Context, endpoint string, progress func(string)) (bench.Result, error) {
			return measure(ctx, endpoint, *rounds, *slice, progress)
		},
	}.Main()
}

// load is what the other user does.
type load struct {
	name string
	// every is the time between two appends, 0 for none.
	every time.Duration
}

var loads = []load{
	{"alone", 0},
	{"beside a user at the limit", time.Minute / limit},
}

// row is what was measured beside one load.
type row struct {
	Load     string          `json:"load"`
	Appends  int             `json:"appends"`
	Median   time.Duration   `json:"median"`
	P99      time.Duration   `json:"p99"`
	Refused  int             `json:"refused"`
	Accepted int             `json:"accepted"`
	times    []time.Duration // of the user who is measured
}

type result struct {
	Rows []*row `json:"rows"`
}

func measure(
	ctx context.Context, endpoint string, rounds int, slice time.Duration, progress func(string),
) (bench.Result, error) {
	out := result{}
	for _, l := range loads {
		out.Rows = append(out.Rows, &row{Load: l.name})
	}
	environment := []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint, fmt.Sprint("REQUESTS_PER_MINUTE=", limit), "LOG_LEVEL=ERROR",
	}
	err := launch.With(ctx, environment, func(stack *launch.Stack) error {
		for round := range rounds {
			// Each slice has users of its own, so that no session grows and no minute of one counts for the next.
			for i, l := range loads {
				progress(fmt.Sprintf("round %d of %d: %s", round+1, rounds, l.name))
				if err := out.Rows[i].play(ctx, stack.Base, fmt.Sprint(round, "-", i), l, slice); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for _, r := range out.Rows {
		r.Appends, r.Median, r.P99 = len(r.times), report.Median(r.times), report.Quantile(r.times, 0.99)
	}
	return out, err
}

// play measures one slice.
func (r *row) play(ctx context.Context, base, name string, l load, slice time.Duration) error {
	measured, err := newWriter(ctx, base, "measured-"+name)
	if err != nil {
		return err
	}
	other, err := newWriter(ctx, base, "other-"+name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, slice)
	defer cancel()
	var load sync.WaitGroup
	var loadErr error
	load.Go(func() {
		loadErr = other.write(ctx, l.every, func(_ time.Duration, refused bool) {
			if refused {
				r.Refused++
			} else {
				r.Accepted++
			}
		})
	})
	err = measured.write(ctx, pace, func(took time.Duration, refused bool) {
		if !refused {
			r.times = append(r.times, took)
		}
	})
	load.Wait()
	return errors.Join(err, loadErr)
}

// writer is a user with a session.
type writer struct{ api *client.Client }

func newWriter(ctx context.Context, base, user string) (*writer, error) {
	api, err := client.New(base).As(ctx, user)
	if err != nil {
		return nil, err
	}
	session := map[string]any{"context": "coach_conversation", "coachId": "coach", "sessionId": "s"}
	return &writer{api}, api.Do(ctx, http.MethodPost, "/v1/sessions", session, nil)
}

// write appends a message at every tick, until the context ends. It tells how long each append took, and whether it was
// refused. One append is under way at a time.
func (w *writer) write(ctx context.Context, every time.Duration, tell func(took time.Duration, refused bool)) error {
	if every == 0 {
		return nil
	}
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	message := map[string]any{"role": "user", "content": "Three sets of hip thrusts, and the knee is fine."}
	body := map[string]any{"messages": []any{message}}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		began := time.Now()
		err := w.api.Do(context.WithoutCancel(ctx), http.MethodPost, "/v1/sessions/s/messages", body, nil)
		problem, isProblem := errors.AsType[*client.Problem](err)
		refused := isProblem && problem.Status == http.StatusTooManyRequests
		if err != nil && !refused {
			return err
		}
		tell(time.Since(began), refused)
	}
}

func (r result) table() *report.Table {
	t := &report.Table{Header: []string{"another user's append", "appends", "median", "p99", "p99 / alone", "refused"}}
	for _, row := range r.Rows {
		t.Add(row.Load, fmt.Sprint(row.Appends), milliseconds(row.Median), milliseconds(row.P99),
			fmt.Sprintf("%.2f", r.ratio(row)), fmt.Sprintf("%d of %d", row.Refused, row.Refused+row.Accepted))
	}
	return t
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func (r result) ratio(row *row) float64 { return float64(row.P99) / float64(r.Rows[0].P99) }

// Text renders the result for a terminal.
func (r result) Text() string { return r.table().Text() + "\n" + report.BarTable(r.Bars()).Text() }

// Markdown renders the section of the document.
func (r result) Markdown() string {
	return fmt.Sprintf(`## One user at the limit

A user appends %d messages a second over the HTTP API of a local stack, alone and beside a user who writes as much as %d
requests a minute allow. The two loads take turns, so that both meet the same machine. Measured on %s.

`, time.Second/pace, limit, report.ThisMachine()) + r.table().Markdown() + "\n" + report.BarTable(r.Bars()).Markdown()
}

// Bars returns the bar of the writer at the limit.
func (r result) Bars() []report.Bar {
	return []report.Bar{
		report.AtMost("p99 of an append beside a user at the limit, to that alone", r.ratio(r.Rows[1]), maxRatio),
	}
}
