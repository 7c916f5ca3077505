// Package messagesfn builds the handler of the messages function: sessions, messages, the timeline and the user's
// long-term records, over the HTTP API.
package messagesfn

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/deadletter"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/health"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/token"
)

// New builds the handler.
func New(ctx context.Context, cfg config.Config, rt function.Runtime) (function.HTTPHandler, error) {
	cfg, rt, err := function.Prepare(ctx, cfg, rt, "messages", config.PineconeKey, config.CursorKey)
	if err != nil {
		return nil, err
	}
	cursors, err := httpapi.ParseCursorKey(cfg.CursorKey)
	if err != nil {
		return nil, err
	}
	tokens := token.New()
	db := function.Table(cfg, function.CountAdopted(tokens.Count),
		dynamo.WithSummaryEvery(cfg.Triggers.Messages), dynamo.WithDailyTokens(cfg.DailyTokens))
	eraser, err := function.Eraser(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	longTerm := function.LongTerm(rt, db)
	memories := erasure.NewMemories(longTerm.Memories, eraser)
	longTerm.Memories, longTerm.Corrector = memories, corrector{longTerm.Corrector, memories}
	handler := httpapi.Messages(httpapi.MessagesDeps{
		Base:     function.Base(cfg, rt, db),
		Sessions: dynamo.NewSessionStore(db), SessionRemover: eraser,
		Messages:       dynamo.NewMessageStore(db),
		MessageRemover: eraser, SessionCutter: eraser, LongTerm: longTerm,
		Documents: dynamo.NewDocumentStore(db),
		Spines:    dynamo.NewSpineStore(db), Usage: dynamo.NewQuotaStore(db), Health: healthOf(cfg, rt, db),
		Eraser: userEraser{eraser, function.Report(rt.Log)}, Tokens: tokens, Cursors: cursors,
	})
	return function.Measured(rt, "messages", httpapi.GatewayHandler(handler)), nil
}

// userEraser answers with the progress of an erasure that has begun and then failed. The user can do nothing about such
// a failure, and a repeated call goes on with the erasure, so the failure is only reported.
type userEraser struct {
	*erasure.Service
	report func(ctx context.Context, op string, err error)
}

// Erase fails only when the erasure could not begin.
func (e userEraser) Erase(ctx context.Context, user conversation.UserID, until time.Time) (erasure.Receipt, error) {
	receipt, err := e.Service.Erase(ctx, user, until)
	if err == nil || receipt.Generation == 0 {
		return receipt, err
	}
	e.report(ctx, "erase user", err)
	return receipt, nil
}

// corrector forgets what a rejected memory was drawn from, as the deletion of a memory does.
type corrector struct {
	httpapi.MemoryCorrector
	memories erasure.Memories
}

// Reject deletes a memory that waits, and then forgets its messages. Where that fails, the sweep goes on with it.
func (c corrector) Reject(ctx context.Context, user conversation.UserID, id string) (longterm.Memory, error) {
	m, err := c.MemoryCorrector.Reject(ctx, user, id)
	if err != nil {
		return m, err
	}
	return m, c.memories.Forget(ctx, user, m)
}

// healthReader makes its service at the first call: few instances are ever asked, and all have to start fast.
type healthReader func() *health.Service

func healthOf(cfg config.Config, rt function.Runtime, db *dynamo.DB) healthReader {
	return sync.OnceValue(func() *health.Service {
		return &health.Service{
			Due:         dynamo.NewDueStore(db),
			DeadLetters: deadletter.New(sqs.NewFromConfig(function.AWS(cfg, cfg.SQSEndpoint)), cfg.DeadLetterQueues),
			Migration:   function.MigrationHealth(cfg, db),
			Now:         time.Now,
			Failed: func(ctx context.Context, part health.Part, err error) {
				function.Report(rt.Log)(ctx, "read "+string(part), err)
			},
		}
	})
}

// Read returns the state of the stage's background work.
func (r healthReader) Read(ctx context.Context) health.Report { return r().Read(ctx) }
