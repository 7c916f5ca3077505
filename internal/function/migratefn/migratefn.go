// Package migratefn builds the handler of the migrate function: the actions of the migration, by direct invocation.
package migratefn

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/invoke"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/token"
)

// New builds the handler.
func New(_ context.Context, cfg config.Config, rt function.Runtime) (function.PayloadHandler, error) {
	tokens, client := token.New(), function.DynamoDB(cfg)
	db := function.Table(cfg, adopt.WithTokens(tokens.Count))
	h := &handler{
		service: &migration.Service{
			Table: adopt.NewMigrationStore(db, client), Now: time.Now, Sleep: delay.Sleep,
			Report: func(ctx context.Context, a migration.Action, m migration.Mismatch) {
				metric.Add(ctx, "MigrationMismatches", 1, metric.Count)
				rt.Log.WarnContext(ctx, "session does not migrate", "action", a, "user", llm.EndUser(string(m.UserID)),
					"session", llm.EndUser(m.SessionID), "reason", m.Reason)
			},
		},
		preflight: func(ctx context.Context) (preflight.Report, error) {
			return preflight.Run(ctx, preflight.Services{Table: client, KeyManager: unread, Consumers: unreadList},
				preflight.Options{Table: cfg.TableName, Region: cfg.Region, SampleItems: 2000, SampleUnits: 500})
		},
	}
	return function.Measured(rt, "migrate", function.Direct(h.handle)), nil
}

var errUnread = errors.New("the migrate function has no right to read this; the command preflight has")

func unread(context.Context, string) (string, error) { return "", errUnread }

func unreadList(context.Context, string) ([]string, error) { return nil, errUnread }

// handler carries out actions.
type handler struct {
	service   *migration.Service
	preflight func(context.Context) (preflight.Report, error)
}

// checked is the answer to the action preflight.
type checked struct {
	migration.Answer
	Ready    bool                `json:"ready"`
	Findings []preflight.Finding `json:"findings"`
}

func (h *handler) handle(ctx context.Context, payload json.RawMessage) (any, error) {
	var in migration.Request
	if err := invoke.Decode(payload, &in); err != nil {
		return nil, err
	}
	in, err := in.Prepare()
	if err != nil {
		return nil, err
	}
	switch in.Action {
	case "status":
		return h.service.Status(ctx)
	case "advance":
		return h.service.Advance(ctx, in)
	case "preflight":
		return h.check(ctx)
	}
	out, err := h.service.Run(ctx, in)
	if err == nil {
		metric.Add(ctx, "MigratedMessages", float64(out.Progress.Messages), metric.Count)
	}
	return out, err
}

func (h *handler) check(ctx context.Context) (checked, error) {
	status, err := h.service.Status(ctx)
	if err != nil {
		return checked{}, err
	}
	report, err := h.preflight(ctx)
	return checked{Answer: status, Ready: report.Ready, Findings: report.Findings}, err
}
