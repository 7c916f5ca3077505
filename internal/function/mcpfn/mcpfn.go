// Package mcpfn builds the handler of the mcp function: the user's memory over the Model Context Protocol, behind the
// HTTP API. The routes have no authorizer, because the protocol's challenge names the resource's metadata, which the
// authorizer's does not. The function checks tokens as the coach function does.
package mcpfn

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/auth"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/lambdaclient"
	"github.com/throughline/throughline/internal/function/tokencheck"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/invoke/caller"
	"github.com/throughline/throughline/internal/mcp"
	"github.com/throughline/throughline/internal/token"
)

// New builds the handler.
func New(ctx context.Context, cfg config.Config, rt function.Runtime) (function.HTTPHandler, error) {
	cfg, rt, verifier, err := tokencheck.Prepare(ctx, cfg, rt, "mcp", config.EmbeddingKey, config.PineconeKey)
	if err != nil {
		return nil, err
	}
	handler, err := protocol(cfg, rt, verifier)
	if err != nil {
		return nil, err
	}
	return function.Measured(rt, "mcp", httpapi.GatewayHandler(handler)), nil
}

func protocol(cfg config.Config, rt function.Runtime, verifier *auth.Verifier) (http.Handler, error) {
	db := function.Table(cfg)
	search, err := function.Recall(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	eraser, err := function.Eraser(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	checked := httpapi.NewDoor(function.Base(cfg, rt, db), verifier)
	return checked.Handler(mcp.New(mcp.Deps{
		Door: door{checked}, Search: search, Memories: erasure.NewMemories(dynamo.NewMemoryStore(db), eraser),
		Facts:    dynamo.NewRecallSource(db),
		Sessions: dynamo.NewSessionStore(db), Messages: dynamo.NewMessageStore(db), Summary: dynamo.NewUserSummaryStore(db),
		Prompts: caller.NewPrompts(lambdaclient.Traced(lambdaclient.New(cfg)), cfg.PromptFunction()),
		Tokens:  token.New(), Now: time.Now, Log: rt.Log, Issuer: cfg.Auth.Issuer, Origins: cfg.Auth.CORSOrigins,
	})), nil
}

// door admits callers by the rules of the HTTP API.
type door struct{ *httpapi.Door }

// Admit implements mcp.Door.
func (d door) Admit(w http.ResponseWriter, r *http.Request) (mcp.Caller, error) {
	c, err := d.Door.Admit(w, r, r.Method+" "+r.URL.Path)
	return mcp.Caller{User: c.User, App: slices.Contains(c.Scopes, httpapi.ScopeApp)}, err
}

// Refuse implements mcp.Door.
func (door) Refuse(w http.ResponseWriter, err error, parameters string) {
	httpapi.WriteRefusal(w, err, parameters)
}
