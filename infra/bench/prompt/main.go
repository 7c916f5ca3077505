// Command prompt measures prompts: wall time over the slowest chain of remote calls with injected latencies, own CPU
// time and allocations, calls and capacity over the length of the history, the remote calls of whole turns of a chat,
// and the start-up times of the functions and the tokenizer. It prints tables, writes JSON and a document's section where
// it is told to, and fails when a bar of design 6 is not held.
//
//	go run ./infra/bench/prompt [-messages 100,10000,100000] [-repeats 200] [-starts 15] [-turns 20] [-json file] [-docs folder]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/throughline/throughline/infra/bench/prompt/promptbench"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/internal/function"
)

const table = "bench-prompt"

func main() {
	messages := flag.String("messages", "100,10000,100000", "numbers of stored messages, ascending")
	repeats := flag.Int("repeats", 200, "how often each prompt is built")
	starts := flag.Int("starts", 15, "how often each function is started, 0 for not at all")
	turns := flag.Int("turns", 20, "how many turns of a chat are played, 0 for none")
	numbers := flag.String("json", "", "file to write the results to as JSON")
	docs := flag.String("docs", "", "folder of the documents to put the results into")
	flag.Parse()
	function.TuneCollector() // as each function does when it starts
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := promptbench.Settings{Repeats: *repeats, Starts: *starts, Turns: *turns, Latency: promptbench.Real}
	if err := run(ctx, s, *messages, *numbers, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "bench-prompt:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s promptbench.Settings, messages, numbers, docs string) (err error) {
	if s.Lengths, err = lengths(messages); err != nil {
		return err
	}
	result, err := measure(ctx, s)
	if err != nil {
		return err
	}
	fmt.Print(result.Text())
	if numbers != "" {
		if err := report.WriteJSON(numbers, result); err != nil {
			return err
		}
	}
	if docs != "" {
		err := report.WriteSection(filepath.Join(docs, "benchmarks.md"), "# Benchmarks\n", "prompt", result.Markdown())
		if err != nil {
			return err
		}
	}
	if missed := result.Missed(); len(missed) > 0 {
		return fmt.Errorf("not held: %s", strings.Join(missed, "; "))
	}
	return nil
}

func lengths(messages string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(messages, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("a length has to be a number of messages: %q", part)
		}
		out = append(out, n)
	}
	if !slices.IsSorted(out) {
		return nil, errors.New("lengths have to ascend")
	}
	return out, nil
}

// measure starts an engine for the trial and stops it afterwards.
func measure(ctx context.Context, s promptbench.Settings) (o promptbench.Result, err error) {
	if !dynamodblocal.Installed() {
		fmt.Fprintln(os.Stderr, "installing DynamoDB Local")
	}
	server, err := dynamodblocal.Start(ctx, dynamodblocal.Options{})
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	return promptbench.Run(ctx, server.Endpoint(), table, s, func(line string) { fmt.Fprintln(os.Stderr, line) })
}
