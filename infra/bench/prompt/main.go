// Command prompt measures prompts beside floors of the same run: their wall time over the slowest chain of their
// remote calls, the CPU time of the process itself, calls and capacity over the length of the history, the remote
// calls of whole chat turns, what a provider's cache can reuse of a day's prompts, and the start-up times of the
// functions. The store, the search and the prompts are the production code. The services are DynamoDB Local, the local
// Pinecone and the offline model, each with the latency of the service that it replaces.
//
//	go -C infra/bench run ./prompt [-docs ../../docs]
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/internal/function"
)

func main() {
	function.TuneCollector() // as each function does when it starts
	rig.Main("prompt", func(ctx context.Context, endpoint string) (report.Result, error) {
		r, err := run(ctx, endpoint, "bench-prompt", settings{
			lengths: []int{100, 10_000, 100_000}, repeats: 200, warmups: 20, starts: 15, turns: 20, day: 30,
			latency: latencies{
				dynamoDB: 5 * time.Millisecond, embedding: 60 * time.Millisecond, pinecone: 30 * time.Millisecond,
			},
		})
		return r.report(), err
	})
}

// settings say what is measured.
type settings struct {
	// lengths are the numbers of stored messages, ascending; each is at least 100.
	lengths []int
	// repeats is how often a prompt is built for its p99 or its CPU time, and warmups how often before it counts. The
	// medians over the lengths take a quarter of the repeats.
	repeats, warmups int
	// starts is how often each function is started, turns how many turns of a chat are measured, and day how many of a
	// day's chat.
	starts, turns, day int
	latency            latencies
}

// latencies are how long services take to answer. Those of main are typical within one region.
type latencies struct{ dynamoDB, embedding, pinecone, lambda, model time.Duration }

// result is what a run measured.
type result struct {
	settings settings
	wall     wall
	cpu      cpu
	growth   []growth
	chat     chat
	reuse    reuse
	starts   starts
}

// run measures on the DynamoDB engine at an endpoint, in a table that it creates and nothing else uses.
func run(ctx context.Context, endpoint, table string, s settings) (r result, err error) {
	r = result{settings: s}
	rig.Progress("building and starting the functions")
	if r.starts, err = measureStarts(ctx, s.starts); err != nil {
		return r, err
	}
	rig.Progress("playing turns of a chat")
	if r.chat, err = measureChat(ctx, endpoint, table+"-chat", s.turns); err != nil {
		return r, err
	}
	services, err := startServices(ctx, endpoint, table, s.latency)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	services.warmups = s.warmups
	if err := r.measureRecipes(ctx, services); err != nil {
		return r, err
	}
	rig.Progress("playing the day of a chat")
	if r.reuse, err = measureReuse(ctx, services, s.day); err != nil {
		return r, fmt.Errorf("a day's chat: %w", err)
	}
	r.growth, err = measureGrowth(ctx, services, s)
	return r, err
}

// measureRecipes measures the wall time of the recipe whose limit it is, and the CPU time of the one that has most of
// the history, over a day of 120,000 characters.
func (r *result) measureRecipes(ctx context.Context, s *services) error {
	sizes := slices.Repeat([]int{30}, 16) // sessions, whose newest 120,000 characters are of today
	h, err := s.writeHistory(ctx, "day", sizes, time.Now().UTC().Truncate(time.Minute))
	if err != nil {
		return err
	}
	rig.Progress("measuring prompts")
	if r.wall, err = s.measureWall(ctx, h, r.settings.repeats); err != nil {
		return err
	}
	r.cpu, err = s.measureCPU(ctx, h, r.settings.repeats)
	return err
}
