// Package summarizefn builds the handler of the summarize function: session summaries from the table's stream, and
// the sweep from its schedule.
package summarizefn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/memory"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/stream"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/token"
)

// New builds the handler.
func New(ctx context.Context, cfg config.Config, rt function.Runtime) (function.Payload, error) {
	cfg, err := function.WithSecrets(ctx, cfg)
	if err != nil {
		return nil, err
	}
	db := dynamo.New(function.DynamoDB(cfg), cfg.TableName, dynamo.WithIdle(cfg.Triggers.Idle),
		dynamo.WithDailyTokens(cfg.DailyTokens))
	index, err := function.Indexer(cfg, db)
	if err != nil {
		return nil, err
	}
	messages := memory.New(dynamo.NewMemorySource(db), index)
	service := summary.New(summary.Deps{
		Store: dynamo.NewSummarySource(db), Model: openai.New(cfg.OpenAI.Background()),
		Quota: dynamo.NewQuotaStore(db), Index: index, Messages: messages,
		Tokens: token.New(), Now: time.Now, Report: function.Report(rt.Log),
		EveryMessages: cfg.Triggers.Messages, Idle: cfg.Triggers.Idle,
		Timeout: time.Duration(cfg.Triggers.TimeoutMS) * time.Millisecond, Background: cfg.BackgroundModel,
	})
	eraser, err := function.Eraser(cfg, db)
	if err != nil {
		return nil, err
	}
	batch := stream.Handler(dynamo.DecodeChange, service, rt.Log)
	handler := batchOrSweep(batch, sweep(service, erasure.NewSweeper(eraser, messages)))
	return function.Measured(rt.Recorder("summarize"), handler), nil
}

// batchOrSweep passes batches of the stream to batch and the schedule's event, which has no records, to sweep.
func batchOrSweep(
	batch func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error),
	sweep func(context.Context) error,
) function.Payload {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		var event events.DynamoDBEvent
		if err := json.Unmarshal(raw, &event); err != nil {
			return nil, fmt.Errorf("decode event: %w", err)
		}
		if len(event.Records) > 0 {
			return batch(ctx, event)
		}
		return nil, sweep(ctx)
	}
}

// deletionsPerSweep is how many unfinished deletions one sweep goes on with.
const deletionsPerSweep = 100

// sweep visits the sessions and the unfinished deletions that are due.
func sweep(summaries *summary.Service, deletions *erasure.Sweeper) func(context.Context) error {
	return func(ctx context.Context) error {
		swept, err := summaries.Sweep(ctx)
		metric.Add(ctx, "SweptSessions", float64(swept.Visited), metric.Count)
		metric.Add(ctx, "SweepFailures", float64(swept.Failed), metric.Count)
		worked, eraseErr := deletions.Sweep(ctx, deletionsPerSweep)
		metric.Add(ctx, "SweptDeletions", float64(worked), metric.Count)
		return errors.Join(err, eraseErr)
	}
}
