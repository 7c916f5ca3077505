// Command scale measures what a conversation uses of each service, and writes docs/scale.md: what that comes to for
// 10,000, a million and ten million users, in calls, capacity, concurrency and money, and what gives way first.
//
//	go -C infra/bench run ./scale [-docs docs] [-sessions 4] [-history 12] [-render]
//
// With -render it measures nothing and writes the document from the numbers in docs/scale.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/throughline/throughline/infra/bench"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/scale/forecast"
	"github.com/throughline/throughline/infra/bench/scale/unitbench"
)

func main() {
	docs := flag.String("docs", "../../docs", "folder of the documents")
	sessions := flag.Int("sessions", 4, "sessions to measure")
	history := flag.Int("history", 12, "sessions that the user has before")
	render := flag.Bool("render", false, "write the document from the numbers that are there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := error(nil)
	if !*render {
		err = measure(ctx, *docs, *sessions, *history)
	}
	if err == nil {
		err = write(*docs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-scale:", err)
		os.Exit(1)
	}
}

// measure measures on an engine of its own and writes the units into the folder.
func measure(ctx context.Context, docs string, sessions, history int) error {
	input, err := forecast.Load(os.DirFS(filepath.Join(docs, "scale")))
	if err != nil {
		return err
	}
	return bench.OnEngine(ctx, func(endpoint string) error {
		units, err := unitbench.Run(ctx, endpoint, unitbench.Settings{
			History: history, Sessions: sessions, Turns: input.Workload.TurnsPerSession,
		})
		if err != nil {
			return err
		}
		return report.WriteJSON(filepath.Join(docs, "scale", forecast.UnitsFile), units)
	})
}

func write(docs string) error {
	input, err := forecast.Load(os.DirFS(filepath.Join(docs, "scale")))
	if err != nil {
		return err
	}
	page, err := input.Markdown()
	if err != nil {
		return err
	}
	return report.WriteFile(filepath.Join(docs, "scale.md"), []byte(page))
}
