package coachfn

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/canary"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/token"
)

// canarySchedule is the name of the schedule in its event, by template.yaml.
const canarySchedule = "canary"

// scheduled returns what an event of the schedule does: a turn of the canary, which is built for the first one. A turn
// that fails is counted, and logged with the reason. It is no error of the invocation, so that the alarm of the
// function's errors is not that of a vendor's outage.
func scheduled(
	cfg config.Config, rt function.Runtime, tokens *token.Counter,
) func(context.Context, string) error {
	build := sync.OnceValues(func() (*canary.Service, error) { return newCanary(cfg, rt, tokens) })
	run := function.Measured(rt, "coach", func(ctx context.Context, of function.Schedule) (struct{}, error) {
		if of != canarySchedule {
			return struct{}{}, fmt.Errorf("the function has no schedule %q", of)
		}
		service, err := build()
		if err == nil {
			err = service.Turn(ctx)
		}
		if err != nil {
			function.Report(rt.Log)(ctx, "canary", err)
		}
		metric.Add(ctx, "CanaryDone", one(err == nil), metric.Count)
		return struct{}{}, nil
	})
	return func(ctx context.Context, schedule string) error {
		_, err := run(ctx, function.Schedule(schedule))
		return err
	}
}

// newCanary builds the canary on a view of the table that has no daily quota. Its deletions are in no ledger: a restore
// that brings one of its sessions back harms nobody, and a later turn deletes it.
func newCanary(cfg config.Config, rt function.Runtime, tokens *token.Counter) (*canary.Service, error) {
	cfg.DailyTokens, cfg.ErasuresTable = 0, ""
	db := table(cfg, tokens)
	service, err := chats(cfg, rt, db, tokens)
	if err != nil {
		return nil, err
	}
	eraser, err := function.Eraser(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	return &canary.Service{
		Sessions: dynamo.NewSessionStore(db), Chat: service, Eraser: eraser, Now: time.Now,
	}, nil
}
