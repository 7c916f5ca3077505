// Command trace starts a collector of spans and a local stack that sends to it, has one turn of the chat, and prints
// the turn's trace.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/local/collector"
)

// patience is how long the turn and the arrival of its spans may take.
const patience = time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "trace:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	spans := collector.New()
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: spans, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }() // until Close
	defer func() { _ = server.Close() }()      // of a listener of this machine
	environment := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + listener.Addr().String()}
	return launch.With(ctx, environment, func(stack *launch.Stack) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		api, err := client.New(stack.Base).As(ctx, "ann")
		if err != nil {
			return err
		}
		tree, err := spans.OneTurn(ctx, api)
		if err != nil {
			return err
		}
		fmt.Print(tree.Table())
		return nil
	})
}
