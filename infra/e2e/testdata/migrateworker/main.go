// Command migrateworker calls the migrate function in a process of its own, until the request on its standard input is
// done. The test kills it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/migratefn"
)

func main() {
	if err := run(context.Background()); err != nil {
		slog.Error("migrate", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	request := map[string]any{}
	cfg, err := config.FromEnvironment()
	if err = errors.Join(err, json.NewDecoder(os.Stdin).Decode(&request)); err != nil {
		return err
	}
	handle, err := migratefn.New(ctx, cfg, function.Runtime{Log: slog.New(slog.DiscardHandler), Metrics: io.Discard})
	if err != nil {
		return err
	}
	handler := lambda.NewHandler(handle)
	for {
		event, err := json.Marshal(request)
		if err != nil {
			return err
		}
		response, err := handler.Invoke(ctx, event)
		if err != nil {
			return err
		}
		var answer struct {
			Done       bool
			Checkpoint any
		}
		if err := json.Unmarshal(response, &answer); err != nil || answer.Done {
			return err
		}
		request["checkpoint"] = answer.Checkpoint
	}
}
