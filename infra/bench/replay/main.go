// Command replay replays real multi-session conversations through the public HTTP API, as users of an app produce
// them: each session in its context, with its own times, in two contexts by turns. At the end it prints what the
// replay took and the prompt that a coach would get now.
//
//	go -C infra/bench run ./replay -data locomo.json [-sample conv-26] [-base http://127.0.0.1:8080]
//
// The file has the shape of LoCoMo's (snap-research/locomo). Replaying the same file twice into one stack changes
// nothing: every call carries an idempotency key.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/throughline/throughline/infra/client"
)

func main() {
	data := flag.String("data", "", "file to replay (required)")
	only := flag.String("sample", "", "replay only the conversation with this id")
	base := flag.String("base", "http://127.0.0.1:8080", "address of the stack")
	parallel := flag.Int("parallel", 4, "how many users at once")
	message := flag.String("ask", "What do you remember about me?", "message of the prompt that is printed at the end")
	flag.Parse()
	if *data == "" {
		fmt.Fprintln(os.Stderr, "replay: -data is missing: name a LoCoMo file")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := &replay{api: client.New(*base), parallel: *parallel, message: *message, out: os.Stdout}
	if err := r.run(ctx, *data, *only); err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}
