// Command smoke tries every function of a running stage by public calls: one short conversation, a prompt, a summary.
// It deletes what it made, and exits with 1 if anything did not work.
//
//	TOKEN=… go run ./infra/smoke -url https://….execute-api.… -coach-url https://….lambda-url.… [-wait 90s]
//
// The token is that of a test user. The command costs two calls of the model.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/smoke/probe"
)

func main() {
	url := flag.String("url", "", "address of the HTTP API (output ApiUrl)")
	coach := flag.String("coach-url", "", "address of the coach (output CoachUrl); the default is -url")
	wait := flag.Duration("wait", 90*time.Second, "how long background work may take")
	flag.Parse()
	token := os.Getenv("TOKEN")
	if *url == "" || token == "" {
		fmt.Fprintln(os.Stderr, "smoke: name the address with -url, and the token of a test user in TOKEN")
		os.Exit(2)
	}
	if *coach == "" {
		*coach = *url
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	report := probe.Run(ctx, probe.Target{
		API: client.New(*url).WithToken(token), Coach: client.New(*coach).WithToken(token), Wait: *wait,
	})
	stop()
	fmt.Print(report.Text())
	if !report.OK() {
		os.Exit(1)
	}
}
