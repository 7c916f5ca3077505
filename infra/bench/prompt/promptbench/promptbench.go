// Package promptbench measures what a prompt costs: its wall time over the slowest chain of its remote calls, the CPU
// time of the process itself, its calls and capacity over the length of the history, the remote calls of whole chat
// turns, and how long the functions take to start. Each time is compared with a floor that the same run measures. The
// store, the search and the prompts are the production code. The services are DynamoDB Local, the local Pinecone and
// the offline model, each with the latency of the service that it replaces.
package promptbench

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/prompt"
)

// Settings say what is measured.
type Settings struct {
	// Lengths are the numbers of stored messages, ascending; each is at least 100.
	Lengths []int `json:"lengths"`
	// Repeats is how often a prompt is built for its p99 or its CPU time. Medians of wall time take a quarter of it.
	Repeats int `json:"repeats"`
	// Warmups is how often a prompt is built before it counts.
	Warmups int `json:"warmups"`
	// Starts is how often each function is started; with 0 none is.
	Starts int `json:"starts"`
	// Turns is how many turns of a chat are measured; with 0 none is.
	Turns int `json:"turns"`
	// Day is how many turns of a day's chat are compared for what a provider's cache can reuse; with 0 none is. Prices are
	// what that saves.
	Day     int       `json:"day"`
	Prices  Prices    `json:"prices"`
	Latency Latencies `json:"latencies"`
}

func (s Settings) validate() error {
	if len(s.Lengths) == 0 || s.Repeats < 1 || s.Lengths[0] < recentMessages {
		return errors.New("at least one length, of 100 messages or more, and at least one repeat are needed")
	}
	return nil
}

func (s Settings) quarter() int { return (s.Repeats + 3) / 4 }

// Result is what a run measured.
type Result struct {
	Settings Settings `json:"settings"`
	Walls    []Wall   `json:"walls"`
	CPUs     []CPU    `json:"cpu"`
	Growth   []Growth `json:"growth"`
	Chat     Chat     `json:"chat"`
	Reuse    []Reuse  `json:"reuse"`
	Starts   Starts   `json:"starts"`
}

// Run measures on the DynamoDB engine at an endpoint, in a table that it creates and nothing else uses. It reports
// its progress in single lines.
func Run(ctx context.Context, endpoint, table string, s Settings, progress func(string)) (r Result, err error) {
	if err := s.validate(); err != nil {
		return r, err
	}
	r = Result{Settings: s}
	if s.Starts > 0 {
		progress("building and starting the functions")
		if r.Starts, err = measureStarts(ctx, s.Starts); err != nil {
			return r, err
		}
	}
	if s.Turns > 0 {
		if r.Chat, err = measureChat(ctx, endpoint, table+"-chat", s.Turns, s.Latency, progress); err != nil {
			return r, err
		}
	}
	services, err := startServices(ctx, endpoint, table, s.Latency)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	services.warmups = s.Warmups
	if err := r.measureRecipes(ctx, services, progress); err != nil {
		return r, err
	}
	if s.Day > 0 {
		progress("playing the day of a chat")
		if r.Reuse, err = measureReuse(ctx, services, s.Day, s.Prices); err != nil {
			return r, err
		}
	}
	r.Growth, err = measureGrowth(ctx, services, s, progress)
	return r, err
}

// measureRecipes measures every recipe over a day of 120,000 characters.
func (r *Result) measureRecipes(ctx context.Context, s *services, progress func(string)) error {
	progress("writing a day of 120,000 characters")
	sizes := slices.Repeat([]int{30}, 16) // sessions, whose newest 120,000 characters are of today
	h, err := s.writeHistory(ctx, "day", sizes, time.Now().UTC().Truncate(time.Minute))
	if err != nil {
		return err
	}
	for _, recipe := range prompt.Recipes {
		progress("measuring " + recipe.Name)
		repeats := r.Settings.Repeats
		if recipe.Name != prompt.Unified {
			repeats = r.Settings.quarter()
		}
		wall, err := s.measureWall(ctx, h, recipe.Name, repeats)
		if err != nil {
			return err
		}
		cpu, err := s.measureCPU(ctx, h, recipe.Name, r.Settings.Repeats)
		if err != nil {
			return err
		}
		r.Walls, r.CPUs = append(r.Walls, wall), append(r.CPUs, cpu)
	}
	return nil
}
