package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/reindex"
	"github.com/throughline/throughline/infra/smoke"
)

// background is how long the work after a turn may take.
const background = 90 * time.Second

func smokeFlags(f *flags) func(context.Context) error {
	url := f.String("url", "", "address of the HTTP API (output ApiUrl)")
	coach := f.String("coach-url", "", "address of the coach (output CoachUrl); the default is -url")
	return func(ctx context.Context) error {
		token := os.Getenv("TOKEN")
		if *url == "" || token == "" {
			return errors.New("name the address with -url, and the token of a test user in TOKEN")
		}
		if *coach == "" {
			*coach = *url
		}
		works := smoke.Run(ctx, smoke.Target{
			API: client.New(*url).WithToken(token), Coach: client.New(*coach).WithToken(token), Wait: background, Out: f.out,
		})
		if !works {
			return errFound
		}
		return nil
	}
}

func reindexFlags(f *flags) func(context.Context) error {
	o := reindex.Options{Environ: env.ToMap(os.Environ()), Out: f.out}
	f.StringVar(&o.Function, "function", "", "deployed function to take the configuration from; else the environment")
	f.BoolVar(&o.DryRun, "dry-run", false, "say how much there is to do and what it costs, and write nothing")
	f.IntVar(&o.Segments, "segments", 4, "parts of the table that are worked on at the same time, 1 to 1000")
	f.IntVar(&o.TextsPerSecond, "texts-per-second", 100, "most texts to embed in a second; 0 is no limit")
	f.IntVar(&o.TokensPerMinute, "tokens-per-minute", 1_000_000, "most tokens to embed in a minute; 0 is no limit")
	return func(ctx context.Context) error {
		isWhole, err := reindex.Run(ctx, o)
		if err == nil && !isWhole {
			return errFound
		}
		return err
	}
}
