package function

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/httpapi"
)

// Constructor builds a function's handler from its configuration.
type Constructor[H any] func(ctx context.Context, cfg config.Config, rt Runtime) (H, error)

// Start is the main function of a Lambda function: it reads the configuration, builds the handler and runs the Lambda
// loop. When that fails, it logs the reason in one line and exits, which Lambda reports as a failed start.
func Start[H any](build Constructor[H]) {
	ctx := context.Background()
	TuneCollector()
	cfg, err := config.FromEnvironment()
	log := Logger(cfg.LogLevel)
	if err != nil {
		fail(ctx, log, err)
	}
	if err := UseApp(ctx, cfg); err != nil {
		fail(ctx, log, err)
	}
	handler, err := build(ctx, cfg, Runtime{Log: log, Metrics: os.Stdout, Stack: cfg.StackName})
	if err != nil {
		fail(ctx, log, err)
	}
	lambda.StartWithOptions(handler, lambda.WithContext(ctx))
}

// gcPercent is how much the heap may grow before a collection, in percent of the live heap.
const gcPercent = 400

// TuneCollector makes garbage collections rarer than by default, with a memory limit of three quarters of the
// function's memory. Nearly all of the live heap is the tokenizer's vocabulary, and each collection has to mark it:
// with the default, collections were half of a prompt's CPU time. GOGC and GOMEMLIMIT take precedence where they are
// set.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if memory := int64(lambdacontext.MemoryLimitInMB) << 20; memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory / 4 * 3)
	}
}

// Logger writes JSON lines with the request's id to standard output.
func Logger(level string) *slog.Logger {
	var threshold slog.Level
	if err := threshold.UnmarshalText([]byte(level)); err != nil {
		threshold = slog.LevelInfo
	}
	return slog.New(httpapi.LogHandler(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: threshold})))
}

func fail(ctx context.Context, log *slog.Logger, err error) {
	log.ErrorContext(ctx, "start function", "error", err.Error())
	os.Exit(1)
}
