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

// Constructor builds a function's handler from configuration alone.
type Constructor[H any] func(ctx context.Context, cfg config.Config, rt Runtime) (H, error)

// Start is the whole of a function's main: configuration from the environment, the handler, and the Lambda loop. A
// function that cannot begin says why in one log line and ends, which Lambda reports as a failed start.
func Start[H any](build Constructor[H]) {
	ctx := context.Background()
	TuneCollector()
	cfg, err := config.FromEnvironment()
	log := Logger(cfg.LogLevel)
	if err != nil {
		fail(ctx, log, err)
	}
	handler, err := build(ctx, cfg, Runtime{Log: log, Metrics: os.Stdout})
	if err != nil {
		fail(ctx, log, err)
	}
	lambda.StartWithOptions(handler, lambda.WithContext(ctx))
}

// heapGrowth is by how many percent of what is live the heap may grow before it is collected.
const heapGrowth = 400

// TuneCollector has memory collected less often than Go does by itself, within three quarters of what Lambda gives.
// Nearly all that is live is the tokenizer's vocabulary, which each collection walks through, beside one invocation at
// a time: collections were half of a prompt's CPU time. GOGC and GOMEMLIMIT, where they are set, have the last word.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	if given := int64(lambdacontext.MemoryLimitInMB) << 20; given > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(given / 4 * 3)
	}
}

// Logger writes JSON lines to standard output, each with the request it belongs to.
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
