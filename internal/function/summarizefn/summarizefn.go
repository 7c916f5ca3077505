// Package summarizefn builds the handler of the summarize function: session summaries and memories from the table's
// stream, and the sweep from its schedule.
package summarizefn

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/eventbus"
	"github.com/throughline/throughline/internal/function/lambdaclient"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/invoke/caller"
	"github.com/throughline/throughline/internal/llm/paced"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/stream"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/token"
)

// New builds the handler.
func New(ctx context.Context, cfg config.Config, rt function.Runtime) (function.PayloadHandler, error) {
	cfg, rt, err := function.Prepare(
		ctx, cfg, rt, "summarize", cfg.OpenAI.BackgroundSecret(), config.EmbeddingKey, config.PineconeKey)
	if err != nil {
		return nil, err
	}
	db := function.Table(cfg, dynamo.WithDailyTokens(cfg.DailyTokens))
	index, err := function.Indexer(cfg, rt)
	if err != nil {
		return nil, err
	}
	messages, publisher := indexing.New(dynamo.NewIndexingSource(db), index, time.Now), eventbus.Publisher(cfg, rt, db)
	client, report := function.Models(cfg.OpenAI.Background(), rt), function.Report(rt.Log)
	model, quota, tokens := paced.New(client, sweep.AtOnce, time.Now), dynamo.NewQuotaStore(db), token.New()
	memories := extraction.New(extraction.Deps{
		Store: dynamo.NewExtractionStore(db), Model: model, Quota: quota, Tokens: tokens, Now: time.Now,
		Random: cryptorand.Reader, NewOwner: cryptorand.Text, Report: report, Count: countExtraction,
		EveryMessages: cfg.Triggers.Memories, Background: cfg.OpenAI.CallsInBackground(),
	})
	service := summary.New(summary.Deps{
		Store: dynamo.NewSummarySource(db), Model: model, Quota: quota, Index: index, Messages: messages,
		Memories: memories, Tokens: tokens, Now: time.Now, Random: rand.Float64, Report: report,
		IsFailing: model.IsFailing, EveryMessages: cfg.Triggers.Messages, Idle: cfg.Triggers.Idle,
		Timeout: cfg.Triggers.Timeout, Background: cfg.OpenAI.CallsInBackground(), Defers: client.IsPatient(),
	})
	spines := summary.NewSpines(summary.SpineDeps{
		Store: dynamo.NewSpineStore(db), Model: model, Quota: quota, Tokens: tokens, Now: time.Now, Random: rand.Float64,
		Report: report, Written: measureSpine, Idle: cfg.Triggers.Idle, Background: cfg.OpenAI.CallsInBackground(),
	})
	eraser, err := function.Eraser(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	sweeper := sweep.New(sweep.Deps{
		Store: dynamo.NewDueStore(db),
		Works: []sweep.Work{
			{Queue: sweep.Sessions, Visitor: service, FirstWait: cfg.Triggers.Idle, AtOnce: model.AtOnce},
			{Queue: sweep.Deletions, Visitor: erasure.NewSweeper(eraser, messages), FirstWait: deletionWait},
			{Queue: sweep.Records, Visitor: messages, FirstWait: cfg.Triggers.Idle},
			{Queue: sweep.Spines, Visitor: spines, FirstWait: cfg.Triggers.Idle, AtOnce: model.AtOnce},
			{Queue: sweep.Skipped, Visitor: memories, FirstWait: cfg.Triggers.Idle, AtOnce: model.AtOnce},
			{Queue: sweep.Events, Visitor: publisher, FirstWait: eventWait, AtOnce: publisher.AtOnce},
		},
		Invoke: startNext(caller.NewStarter(lambdaclient.New(cfg), cfg.WorkerFunction())),
		Now:    time.Now, Random: rand.Float64, NewOwner: cryptorand.Text, Report: report,
	})
	batch := stream.Handler(db.DecodeChange, function.NewArrivals(db, service), rt.Log)
	batch = eventbus.Publishing(rt, db, publisher, batch)
	return function.Measured(rt, "summarize", batchOrSweep(watching(sweeper, batch), sweeper.Sweep)), nil
}

// batchHandler handles a batch of the stream.
type batchHandler = func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)

// watching lets the sweep know of what succeeds in batches.
func watching(s *sweep.Service, batch batchHandler) batchHandler {
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		return batch(s.Watch(ctx), event)
	}
}

// countExtraction records what one batch of the extraction came to.
func countExtraction(ctx context.Context, c extraction.Counts) {
	metric.Add(ctx, "ExtractionCalls", float64(c.Calls), metric.Count)
	metric.Add(ctx, "MemoriesExtracted", float64(c.NewMemories), metric.Count)
	metric.Add(ctx, "MemoriesSuperseded", float64(c.Superseded), metric.Count)
	metric.Add(ctx, "MemoriesEnded", float64(c.Ended), metric.Count)
	metric.Add(ctx, "MemoriesForgotten", float64(c.Forgotten), metric.Count)
	metric.Add(ctx, "ExtractionBadItems", float64(c.BadItems), metric.Count)
	metric.Add(ctx, "ExtractionBadAnswers", float64(c.BadAnswers), metric.Count)
	metric.Add(ctx, "ExtractionSkipped", float64(c.Skipped), metric.Count)
	metric.Add(ctx, "LoopsOpened", float64(c.OpenedLoops), metric.Count)
	metric.Add(ctx, "LoopsClosed", float64(c.ClosedLoops), metric.Count)
}

// deletionWait is how long a deletion waits after its first failure, and eventWait an event.
const deletionWait, eventWait = time.Minute, time.Second

// sweepEvent is the event of the schedule, and of the invocations that the sweep starts.
type sweepEvent struct {
	Schedule string `json:"schedule"`
	sweep.Task
}

const sweepSchedule = "sweep"

// startNext starts invocations of this function.
func startNext(starter *caller.Starter) func(context.Context, sweep.Task) error {
	return func(ctx context.Context, t sweep.Task) error { return starter.Start(ctx, sweepEvent{sweepSchedule, t}) }
}

// errUnknownEvent says that an event is neither a batch of the stream nor the schedule's.
var errUnknownEvent = errors.New("the event has neither records nor a known schedule")

// batchOrSweep passes batches of the stream to batch and the schedule's event, which has no records, to the sweep.
func batchOrSweep(
	batch batchHandler,
	work func(context.Context, sweep.Task) (sweep.Swept, error),
) function.PayloadHandler {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		var event struct {
			events.DynamoDBEvent
			sweepEvent
		}
		if err := json.Unmarshal(raw, &event); err != nil {
			return nil, fmt.Errorf("decode event: %w", err)
		}
		if len(event.Records) > 0 {
			return batch(ctx, event.DynamoDBEvent)
		}
		if event.Schedule != sweepSchedule {
			return nil, errUnknownEvent
		}
		swept, err := work(ctx, event.Task)
		measure(ctx, event.Task, swept, err)
		return nil, err
	}
}

// measure records what a sweep did. SweepCompleted is there only when the schedule's sweep has looked at all shards, so
// that an alarm can tell that it did not. SweepBehind is for how long the earliest record had been due by then, and
// OldestUncovered for how long the work on a visited record had not succeeded.
func measure(ctx context.Context, t sweep.Task, swept sweep.Swept, err error) {
	metric.Add(ctx, "SweepVisits", float64(swept.Visited), metric.Count)
	metric.Add(ctx, "SweepFailures", float64(swept.Failed), metric.Count)
	metric.Add(ctx, "SweepWorkers", float64(swept.Started), metric.Count)
	metric.Add(ctx, "OldestUncovered", float64(swept.Oldest.Milliseconds()), metric.Milliseconds)
	if len(t.Shards) == 0 && err == nil {
		metric.Add(ctx, "SweepCompleted", 1, metric.Count)
		metric.Add(ctx, "SweepBehind", float64(swept.Behind.Milliseconds()), metric.Milliseconds)
	}
}

// measureSpine records a spine that was written, and how many sessions are new in it.
func measureSpine(ctx context.Context, sessions int) {
	metric.Add(ctx, "SpinesWritten", 1, metric.Count)
	metric.Add(ctx, "SpineSessions", float64(sessions), metric.Count)
}
