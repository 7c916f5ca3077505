// Package promptfn builds the handler of the prompt function: prompts over the HTTP API and by direct invocation.
package promptfn

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/invoke"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/token"
)

// New builds the handler.
func New(ctx context.Context, cfg config.Config, rt function.Runtime) (function.PayloadHandler, error) {
	cfg, rt, err := function.Prepare(ctx, cfg, rt, "prompt", config.EmbeddingKey, config.PineconeKey, config.CursorKey)
	if err != nil {
		return nil, err
	}
	cursors, err := httpapi.ParseCursorKey(cfg.CursorKey)
	if err != nil {
		return nil, err
	}
	db := function.Table(cfg)
	service, err := prompts(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	http := httpapi.Prompts(httpapi.PromptsDeps{
		Base: function.Base(cfg, rt, db), Prompter: service, Cursors: cursors,
	})
	handler := function.HTTPOrDirect(httpapi.GatewayHandler(http), direct(service))
	return function.Measured(rt, "prompt", handler), nil
}

func prompts(cfg config.Config, rt function.Runtime, db *dynamo.DB) (*prompt.Service, error) {
	search, err := function.Recall(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	tokens := token.New()
	tokens.Warm()
	return prompt.New(prompt.Deps{
		Archive: dynamo.NewPromptStore(db),
		Store:   dynamo.NewPromptSource(db), Search: search, Counter: tokens, Now: time.Now, NewID: rand.Text,
		Log: rt.Log, Observe: observe,
		StoreText: cfg.KeepPromptText, Retention: function.PromptRetention,
	}), nil
}

// observe adds metrics of a prompt: its tokens, the time of each source, and one for each source that was missing.
func observe(ctx context.Context, o prompt.Observation) {
	metric.Add(ctx, "PromptTokens", float64(o.Tokens.Total), metric.Count)
	metric.Add(ctx, "PromptOwnTime", float64(o.Own.Microseconds())/1000, metric.Milliseconds)
	for source, took := range o.Timings {
		metric.Add(ctx, "Source."+source, float64(took.Microseconds())/1000, metric.Milliseconds)
	}
	for _, d := range o.Degraded {
		metric.Add(ctx, "Degraded."+d.Source, 1, metric.Count)
	}
}

// builder builds prompts.
type builder interface {
	Build(ctx context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error)
}

// direct answers a direct invocation. Its payload is the body of POST /v1/prompts and the user.
func direct(service builder) function.PayloadHandler {
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		in, err := decode(payload)
		if err != nil {
			return nil, err
		}
		if err := in.UserID.Validate(); err != nil {
			return nil, err
		}
		in.Request.SkipSave, in.Request.Ahead = in.SkipSave, in.Ahead
		return service.Build(ctx, in.UserID, in.Request)
	}
}

func decode(payload json.RawMessage) (prompt.Invocation, error) {
	var in prompt.Invocation
	if err := invoke.DecodeKnown(payload, &in); err != nil || in.IgnoreUnknown {
		return in, err
	}
	return in, invoke.Decode(payload, &in)
}
