// Package tokencheck prepares the functions that check tokens themselves, because no authorizer of a gateway is in
// front of them.
package tokencheck

import (
	"context"
	"sync"

	"github.com/throughline/throughline/internal/auth"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
)

// Prepare is function.Prepare for a function that checks tokens. It fetches the keys and the issuer's keys in parallel.
func Prepare(ctx context.Context, cfg config.Config, rt function.Runtime, name string, keys ...config.Secret) (
	config.Config, function.Runtime, *auth.Verifier, error,
) {
	verifier, err := auth.New(ctx, auth.Config{
		Issuer: cfg.Auth.Issuer, Audiences: cfg.Auth.Audiences,
	})
	if err != nil {
		return cfg, rt, nil, err
	}
	report := function.Report(rt.Log)
	var warming sync.WaitGroup
	warming.Go(func() {
		if err := verifier.Warm(ctx); err != nil {
			report(ctx, "fetch issuer's keys", err) // the first token tries again
		}
	})
	cfg, rt, err = function.Prepare(ctx, cfg, rt, name, keys...)
	warming.Wait()
	return cfg, rt, verifier, err
}
