// Package coachfn builds the handler of the coach function: the streaming chat and the export, behind a REST API that
// streams or a function URL.
package coachfn

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/lambdaurl"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/lambdaclient"
	"github.com/throughline/throughline/internal/function/tokencheck"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/invoke/caller"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/token"
)

// chatTimeout limits one generation of the coach.
const chatTimeout = 2 * time.Minute

// New builds the handler.
func New(ctx context.Context, cfg config.Config, rt function.Runtime) (function.DoorHandler, error) {
	cfg, rt, verifier, err := tokencheck.Prepare(
		ctx, cfg, rt, "coach", config.OpenAIKey, config.EmbeddingKey, config.PineconeKey, config.CursorKey)
	if err != nil {
		return nil, err
	}
	cursors, err := httpapi.ParseCursorKey(cfg.CursorKey)
	if err != nil {
		return nil, err
	}
	tokens := token.New()
	db := table(cfg, tokens)
	service, err := chats(cfg, rt, db, tokens)
	if err != nil {
		return nil, err
	}
	url := function.MeasuredStream(rt, "coach", lambdaurl.Wrap(httpapi.Coach(httpapi.CoachDeps{
		Base: function.Base(cfg, rt, db),
		Chat: service, Turns: service, Verifier: verifier, Origins: cfg.Auth.CORSOrigins, Export: export(rt, db),
		Cursors: cursors,
	})))
	return function.AnyDoor(url, scheduled(cfg, rt, tokens)), nil
}

func table(cfg config.Config, tokens *token.Counter) *dynamo.DB {
	return function.Table(cfg, dynamo.WithSummaryEvery(cfg.Triggers.Messages),
		dynamo.WithDailyTokens(cfg.DailyTokens), dynamo.WithAnswerLimit(cfg.AnswersAtOnce, chat.Longest(chatTimeout)),
		function.CountAdopted(tokens.Count))
}

func export(rt function.Runtime, db *dynamo.DB) httpapi.ExportDeps {
	return httpapi.ExportDeps{
		Sessions: dynamo.NewSessionStore(db), Messages: dynamo.NewMessageStore(db),
		LongTerm: function.LongTerm(rt, db), Spines: dynamo.NewSpineStore(db),
		Prompts: prompt.New(prompt.Deps{Archive: dynamo.NewPromptStore(db)}), Usage: dynamo.NewQuotaStore(db),
		Documents: dynamo.NewDocumentStore(db),
		Held:      dynamo.NewHeldStore(db), Limit: dynamo.NewExportLimit(db),
	}
}

func chats(cfg config.Config, rt function.Runtime, db *dynamo.DB, tokens *token.Counter) (*chat.Service, error) {
	recaller, err := function.Recall(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	prompts := caller.NewPrompts(lambdaclient.Traced(lambdaclient.New(cfg)), cfg.PromptFunction())
	turns := dynamo.NewTurnStore(db)
	return chat.New(chat.Deps{
		Turns: turns, Watch: turns, Joins: turns, Keeper: turns, Prompts: prompts,
		Model:  function.Models(cfg.OpenAI, rt),
		Recall: recaller,
		Forget: dynamo.NewExtractionStore(db),
		Embed:  recaller, Archive: dynamo.NewPromptStore(db), Tokens: tokens, Now: time.Now,
		Timeout:      chatTimeout,
		AnswerTokens: cfg.AnswerTokens,
		StoreText:    cfg.KeepPromptText, Retention: function.PromptRetention,
		Observe: observe, Report: function.Report(rt.Log),
	}), nil
}

// observe adds the metrics of a turn: what it came to, how long the user waited for the first words, the tokens that
// the vendor counted, and how many of the prompt's were cached. Each turn that has an answer, or should have one, adds
// to all three counts, two of them with 0, so that their shares are known. A turn that the user's own request or limits
// end is none of them.
func observe(ctx context.Context, o chat.Outcome) {
	code := fault.CodeOf(o.Failure)
	if o.Failure != nil && code != fault.Unavailable && code != fault.Internal {
		metric.Add(ctx, "AnswersRefused", 1, metric.Count)
		return
	}
	isFailed := o.Failure != nil
	if isFailed {
		metric.Add(ctx, "AnswersFailed."+string(code), 1, metric.Count)
	}
	metric.Add(ctx, "AnswersFailed", one(isFailed), metric.Count)
	metric.Add(ctx, "AnswersInterrupted", one(!isFailed && o.Interrupted), metric.Count)
	metric.Add(ctx, "AnswersDone", one(!isFailed && !o.Interrupted), metric.Count)
	if o.FirstToken > 0 {
		metric.Add(ctx, "FirstToken", float64(o.FirstToken.Milliseconds()), metric.Milliseconds)
	}
	u := o.Usage
	metric.Add(ctx, "ModelPromptTokens", float64(u.PromptTokens), metric.Count)
	metric.Add(ctx, "ModelCachedTokens", float64(u.CachedTokens), metric.Count)
	metric.Add(ctx, "ModelAnswerTokens", float64(u.CompletionTokens), metric.Count)
}

// one returns 1 for what holds, otherwise 0.
func one(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
