package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/local/collector"
)

// patience is how long the turn and the arrival of its spans may take.
const patience = time.Minute

// traceFlags starts a collector of spans and a local stack that sends to it, has one turn of the chat, and prints the
// turn's trace.
func traceFlags(f *flags) func(context.Context) error {
	return func(ctx context.Context) error {
		spans := collector.New()
		server := httptest.NewServer(spans)
		defer server.Close()
		environment := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL}
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
			fmt.Fprint(f.out, tree.Table())
			return nil
		})
	}
}
