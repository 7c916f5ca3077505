// Command prompt measures prompts: their wall time over the slowest chain of remote calls, the process's own CPU time,
// calls and capacity over the length of the history, the remote calls of whole chat turns, what a provider's cache can
// reuse of a day's prompts, and the start-up times of the functions. It prints tables, writes JSON and a section of a
// document to the paths in its flags, and fails when a bar is not met.
//
//	go -C infra/bench run ./prompt [-messages 100,10000,100000] [-repeats 200] [-starts 15] [-turns 20] [-day 30] \
//		[-prices ../../docs/scale] [-json file] [-docs folder]
package main

import (
	"context"
	"flag"
	"os"

	"github.com/throughline/throughline/infra/bench"
	"github.com/throughline/throughline/infra/bench/prompt/promptbench"
	"github.com/throughline/throughline/infra/bench/scale/forecast"
	"github.com/throughline/throughline/internal/function"
)

func main() {
	messages := bench.Lengths{100, 10_000, 100_000}
	flag.Func("messages", "numbers of stored messages, ascending (default 100,10000,100000)", messages.Set)
	repeats := flag.Int("repeats", 200, "how often each prompt is built")
	starts := flag.Int("starts", 15, "how often each function is started, 0 for not at all")
	turns := flag.Int("turns", 20, "how many turns of a chat are measured, 0 for none")
	day := flag.Int("day", 30, "how many turns of a day's chat are compared, 0 for none")
	prices := flag.String("prices", "../../docs/scale", "folder of the file of prices")
	function.TuneCollector() // as each function does when it starts
	bench.Command{
		Name: "prompt",
		Measure: func(ctx context.Context, endpoint string, progress func(string)) (bench.Result, error) {
			in, err := forecast.Load(os.DirFS(*prices))
			if err != nil {
				return nil, err
			}
			return promptbench.Run(ctx, endpoint, "bench-prompt", promptbench.Settings{
				Lengths: messages, Repeats: *repeats, Warmups: 20, Starts: *starts, Turns: *turns, Day: *day,
				Latency: promptbench.Typical,
				Prices:  promptbench.Prices{Input: in.Prices.USD("modelInput"), Cached: in.Prices.USD("modelCached")},
			}, progress)
		},
	}.Main()
}
