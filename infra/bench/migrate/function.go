package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/migratefn"
	"github.com/throughline/throughline/internal/migration"
)

// migrateFunction is the function migrate in this process.
type migrateFunction struct{ lambda.Handler }

type step = map[string]any

func newFunction(ctx context.Context, endpoint, table string) (migrateFunction, error) {
	cfg, err := config.Parse(map[string]string{
		"TABLE_NAME": table, "AWS_ENDPOINT_URL_DYNAMODB": endpoint, "AWS_ACCESS_KEY_ID": "local",
		"AWS_SECRET_ACCESS_KEY": "local", "INITIAL_STAGE": "embedded", "PINECONE_INDEX_HOST": "unused",
	})
	if err != nil {
		return migrateFunction{}, err
	}
	rt := function.Runtime{Log: slog.New(slog.DiscardHandler), Metrics: io.Discard}
	handle, err := migratefn.New(ctx, cfg, rt)
	if err != nil {
		return migrateFunction{}, err
	}
	return migrateFunction{lambda.NewHandler(handle)}, nil
}

// call calls the function until the action is done.
func (f migrateFunction) call(ctx context.Context, in step) (out migration.Answer, err error) {
	for {
		event, err := json.Marshal(in)
		if err != nil {
			return out, err
		}
		response, err := f.Invoke(ctx, event)
		if failed, ok := errors.AsType[messages.InvokeResponse_Error](err); ok && failed.Type == string(fault.Unavailable) {
			continue // as the state machine does
		}
		if err != nil {
			return out, fmt.Errorf("%v: %w", in["action"], err)
		}
		out = migration.Answer{}
		if err := json.Unmarshal(response, &out); err != nil || out.Done {
			return out, err
		}
		in["checkpoint"] = out.Checkpoint
	}
}

// backfill copies all segments at once, at a rate in all together, and returns how long that took.
func (f migrateFunction) backfill(ctx context.Context, segments int, rate float64) (time.Duration, error) {
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for n := range segments {
		group.Go(func() error {
			_, err := f.call(ctx, step{
				"action": "backfill", "segment": n, "totalSegments": segments, "rateLimit": rate / float64(segments),
			})
			return err
		})
	}
	err := group.Wait()
	return time.Since(start), err
}
