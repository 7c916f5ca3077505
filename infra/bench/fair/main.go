// Command fair measures what one user can take from another on a local stack: the time of an append beside a user who
// writes as much as the limit allows, the time until a summary beside one who leaves a session each second, the answers
// that one user holds at once, and the tokens beyond the quota. It prints tables, writes sections of two documents, and
// fails when a bar is not met.
//
//	go run ./infra/bench/fair [-rounds 8] [-slice 10s] [-docs folder]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

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
	Load  string          `json:"load"`
	Times []time.Duration `json:"times"` // of the user who is measured
	// Refused and Accepted are appends of the other user.
	Refused  int `json:"refused"`
	Accepted int `json:"accepted"`
}

func (r *row) p99() time.Duration { return report.Quantile(r.Times, 0.99) }

type result struct {
	Rows      []*row        `json:"rows"`
	Summaries []*summaryRow `json:"summaries"`
	Answers   *answers      `json:"answers"`
	Swept     *swept        `json:"swept"`
	// Accepted is how many requests of a burst in one minute were not refused.
	Accepted int `json:"accepted"`
}

func measure(
	ctx context.Context, endpoint string, rounds int, slice time.Duration, progress func(string),
) (bench.Result, error) {
	out := &result{Answers: &answers{}, Swept: &swept{}, Summaries: []*summaryRow{
		{Load: "who is not remembered"}, {Load: "who is remembered", memory: true},
	}}
	for _, l := range loads {
		out.Rows = append(out.Rows, &row{Load: l.name})
	}
	base := []string{"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint, "LOG_LEVEL=ERROR"}
	limited := append(slices.Clone(base), fmt.Sprint("REQUESTS_PER_MINUTE=", limit))
	err := launch.With(ctx, limited, func(stack *launch.Stack) error {
		return errors.Join(
			out.measureAppends(ctx, stack.Base, rounds, slice, progress),
			out.measureSummaries(ctx, stack.Base, rounds, slice, progress), out.measureRequests(ctx, stack.Base, progress))
	})
	if err != nil {
		return nil, err
	}
	few := append(limited, fmt.Sprint("ANSWERS_AT_ONCE=", answersAtOnce), fmt.Sprint("DAILY_TOKENS=", dailyTokens))
	err = launch.With(ctx, few, func(stack *launch.Stack) error {
		progress("answers")
		return errors.Join(slowModel(ctx, stack.Base), out.Answers.hold(ctx, stack.Base), out.Answers.spend(ctx, stack.Base))
	})
	if err != nil {
		return nil, err
	}
	resting := append(base, "TRIGGERS=messages=50,idle=3s,sweep=1s")
	err = launch.With(ctx, resting, func(stack *launch.Stack) error {
		progress("the sweep")
		return errors.Join(slowModel(ctx, stack.Base), out.Swept.measure(ctx, stack.Base, (rounds+1)/2))
	})
	return *out, err
}

// measureAppends plays the loads of appends in turn.
func (r *result) measureAppends(
	ctx context.Context, base string, rounds int, slice time.Duration, progress func(string),
) error {
	for round := range rounds {
		// Each slice has users of its own, so that no session grows and no minute of one counts for the next.
		for i, l := range loads {
			progress(fmt.Sprintf("round %d of %d: %s", round+1, rounds, l.name))
			if err := r.Rows[i].play(ctx, base, fmt.Sprint(round, "-", i), l, slice); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureSummaries plays the loads of summaries in turn, in slices twice as long, because a summary takes seconds.
func (r *result) measureSummaries(
	ctx context.Context, base string, rounds int, slice time.Duration, progress func(string),
) error {
	if err := slowModel(ctx, base); err != nil {
		return err
	}
	for round := range (rounds + 1) / 2 {
		for i, row := range r.Summaries {
			progress(fmt.Sprintf("summaries, round %d: beside a user %s", round+1, row.Load))
			if err := row.play(ctx, base, fmt.Sprint(round, "-", i), 2*slice); err != nil {
				return err
			}
		}
	}
	return nil
}

// slowModel makes the models of a stack as slow as hosted ones.
func slowModel(ctx context.Context, base string) error {
	faults := map[string]any{"openai": map[string]any{"latencyMs": modelTime.Milliseconds()}}
	return client.New(base).Do(ctx, http.MethodPost, "/dev/faults", faults, nil)
}

func (r *row) play(ctx context.Context, base, name string, l load, slice time.Duration) error {
	measured, err := newUser(ctx, base, "measured-"+name)
	if err != nil {
		return err
	}
	other, err := newUser(ctx, base, "other-"+name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, slice)
	defer cancel()
	var both errgroup.Group
	both.Go(func() error {
		return write(ctx, other, l.every, func(_ time.Duration, refused bool) {
			if refused {
				r.Refused++
			} else {
				r.Accepted++
			}
		})
	})
	both.Go(func() error {
		return write(ctx, measured, pace, func(took time.Duration, refused bool) {
			if !refused {
				r.Times = append(r.Times, took)
			}
		})
	})
	return both.Wait()
}

// newUser returns a client of a user with a session, "s".
func newUser(ctx context.Context, base, user string) (*client.Client, error) {
	api, err := client.New(base).As(ctx, user)
	if err != nil {
		return nil, err
	}
	return api, openSession(ctx, api, "s")
}

func openSession(ctx context.Context, api *client.Client, id string) error {
	session := map[string]any{"context": "coach_conversation", "coachId": "coach", "sessionId": id}
	return api.Do(ctx, http.MethodPost, "/v1/sessions", session, nil)
}

// isRefused reports whether an error says that the user asks for too much.
func isRefused(err error) bool {
	problem, isProblem := errors.AsType[*client.Problem](err)
	return isProblem && problem.Status == http.StatusTooManyRequests
}

// write appends a message at every tick, until the context ends. It reports to tell how long each append took, and
// whether it was refused. One append is under way at a time.
func write(
	ctx context.Context, api *client.Client, every time.Duration, tell func(took time.Duration, refused bool),
) error {
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
		err := api.Do(context.WithoutCancel(ctx), http.MethodPost, "/v1/sessions/s/messages", body, nil)
		if err != nil && !isRefused(err) {
			return err
		}
		tell(time.Since(began), err != nil)
	}
}

// Note says what was measured on.
func (r result) Note() string { return "a local stack on DynamoDB Local" }

// Tables returns the times of another user's appends.
func (r result) Tables() []report.Titled {
	t := report.NewTitled("Another user's append", "", "appends", "median", "p99", "p99 / alone", "refused")
	for _, row := range r.Rows {
		t.Add(row.Load, fmt.Sprint(len(row.Times)), milliseconds(report.Median(row.Times)), milliseconds(row.p99()),
			fmt.Sprintf("%.2f", r.ratio(row)), fmt.Sprintf("%d of %d", row.Refused, row.Refused+row.Accepted))
	}
	return []report.Titled{t}
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func (r result) ratio(row *row) float64 { return float64(row.p99()) / float64(r.Rows[0].p99()) }

// medians returns the ratio of two medians, and writes what it is of.
func medians(beside, alone []time.Duration) (ratio float64, text string) {
	a, b := report.Median(beside), report.Median(alone)
	ratio = float64(a) / float64(b)
	return ratio, fmt.Sprintf("%.2f: %s, %s (at worst %s, %s)", ratio, seconds(a), seconds(b),
		seconds(report.Quantile(beside, 1)), seconds(report.Quantile(alone, 1)))
}

func (r result) summaries() (ratio float64, text string) {
	return medians(r.Summaries[1].Times, r.Summaries[0].Times)
}

// shares is what a user tried to take from others, the limit and what was measured.
func (r result) shares() *report.Table {
	t := &report.Table{Header: []string{"one user", "limit", "measured"}}
	_, summaries := r.summaries()
	_, swept := medians(r.Swept.Beside, r.Swept.Alone)
	t.Add(fmt.Sprintf("makes %d requests in a minute", burst), fmt.Sprintf("%d answered", limit),
		fmt.Sprint(r.Accepted))
	t.Add(fmt.Sprintf("writes %d requests a minute", limit),
		fmt.Sprintf("another's append takes at most %.1f times as long (p99)", maxRatio),
		fmt.Sprintf("%.2f", r.ratio(r.Rows[1])))
	t.Add(fmt.Sprintf("creates, fills with %d messages and leaves a session each second", busyMessages),
		fmt.Sprintf("another's summary takes at most %.1f times as long as with that user's memory off (median)",
			maxSummaryRatio), summaries)
	t.Add(fmt.Sprintf("lets %d sessions rest at once", restingSessions),
		fmt.Sprintf("the sweep's summary of another's takes at most %.1f times as long as alone (median)", maxSweepRatio),
		swept)
	t.Add(fmt.Sprintf("asks for %d answers in %d rounds, and is erased after each", r.Answers.Asked, erasures),
		fmt.Sprintf("%d under way at once", answersAtOnce), fmt.Sprint(r.Answers.Held))
	t.Add(fmt.Sprintf("asks for %d answers at once until the %d tokens of the day are spent", chatsAtOnce, dailyTokens),
		fmt.Sprintf("one answer more: %d tokens", r.Answers.Largest), fmt.Sprintf("%d tokens more", r.Answers.Past))
	return t
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Excerpt is the section of docs/security.md.
func (r result) Excerpt() (document, markdown string) {
	return "security.md", fmt.Sprintf("Measured on a local stack whose model takes %s, on %s:\n\n", modelTime,
		report.ThisMachine()) + r.shares().Markdown()
}

// Bars returns the bar of the writer at the limit.
func (r result) Bars() []report.Bar {
	summaries, _ := r.summaries()
	swept, _ := medians(r.Swept.Beside, r.Swept.Alone)
	return []report.Bar{
		report.AtMost("p99 of an append beside a user at the limit, to that alone", r.ratio(r.Rows[1]), maxRatio),
		report.AtMost("a summary beside a user who is remembered, to that beside one who is not", summaries,
			maxSummaryRatio),
		report.AtMost("the sweep's summary beside a user whose sessions rest at once, to that alone", swept,
			maxSweepRatio),
		report.AtMost("requests of one user in a minute", float64(r.Accepted), limit*1.05),
		report.AtMost("answers of one user at once", float64(r.Answers.Held), answersAtOnce),
		report.AtMost("tokens beyond the quota, in answers", float64(r.Answers.Past)/float64(max(r.Answers.Largest, 1)), 1),
	}
}
