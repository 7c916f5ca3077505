// Command local runs all of Throughline on this machine: the functions of functions/, with a local server of each
// service that they need. `make run` runs it.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/throughline/throughline/infra/local/functions"
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/registry"
)

// repeat is the share of stream batches that are delivered twice, as the service may do at any time.
const repeat = 0.02

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "throughline:", err)
		os.Exit(1)
	}
}

func run() error {
	start := time.Now()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := stack.Parse(env.ToMap(os.Environ()))
	if err != nil {
		return err
	}
	if err := useApp(cfg.App); err != nil {
		return err
	}
	cfg.Functions = functions.All()
	cfg.Out, cfg.Logger, cfg.Repeat = os.Stdout, logger(), repeat
	if cfg.MetricsFile != "" {
		metrics, err := os.OpenFile(cfg.MetricsFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("METRICS_FILE: %w", err)
		}
		defer metrics.Close()
		cfg.Metrics = metrics
	}
	running, err := stack.Start(ctx, cfg)
	if ctx.Err() != nil {
		return nil // interrupted while starting
	}
	if err != nil {
		return err
	}
	fmt.Printf("ready  %s  (%.1f s)\n", running.URL(), time.Since(start).Seconds())
	err = running.Wait(ctx)
	stop() // a second signal ends the process at once
	if stopErr := running.Stop(); err == nil {
		err = stopErr
	}
	return err
}

// logger writes warnings to standard error, or what LOG_LEVEL says.
func logger() *slog.Logger {
	level := slog.LevelWarn
	if text := os.Getenv("LOG_LEVEL"); text != "" {
		_ = level.UnmarshalText([]byte(text)) // the functions refuse a wrong one
	}
	return slog.New(httpapi.LogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
}

// useApp makes a file the registry of this process, if it is named.
func useApp(file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("APP=%s: %w", file, err)
	}
	app, err := registry.Parse(text)
	if err != nil {
		return fmt.Errorf("APP=%s:\n%w", file, err)
	}
	registry.Use(app)
	return nil
}
