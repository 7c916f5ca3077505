package trace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// Prompts makes a span of each prompt.
type Prompts struct {
	*prompt.Service
	tracer *Tracer
}

// Prompts returns the service with spans.
func (t *Tracer) Prompts(s *prompt.Service) Prompts { return Prompts{s, t} }

// Build builds a prompt.
func (s Prompts) Build(ctx context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error) {
	if s.tracer == nil {
		return s.Service.Build(ctx, user, r)
	}
	ctx, span := s.tracer.start(inConversation(ctx, r.SessionID), "build_prompt", otel.SpanKindInternal,
		attribute.Bool(embeddingAhead, r.Ahead != nil && r.Ahead.Embedding != nil))
	p, err := s.Service.Build(ctx, user, r)
	if err == nil {
		span.SetAttributes(
			attribute.String(promptID, p.ID), attribute.String(promptRecipe, p.Recipe),
			attribute.Int(promptTokens, p.Tokens.Total), attribute.Int(promptBudget, p.Tokens.Budget),
		)
		span.SetAttributes(missing(p.Manifest.Degraded)...)
	}
	end(span, err)
	return p, err
}

// missing names the sources that a prompt or a search did without.
func missing(of []recall.Degradation) []attribute.KeyValue {
	if len(of) == 0 {
		return nil
	}
	names := make([]string, len(of))
	for i, d := range of {
		names[i] = d.Source
	}
	return []attribute.KeyValue{attribute.StringSlice(degraded, names)}
}

// Archive returns an archive that makes a span of each prompt that it stores.
func (t *Tracer) Archive(next prompt.Archive) prompt.Archive {
	if t == nil {
		return next
	}
	return archive{next, t}
}

type archive struct {
	prompt.Archive
	tracer *Tracer
}

// SavePrompt implements prompt.Archive.
func (a archive) SavePrompt(ctx context.Context, user conversation.UserID, k prompt.StoredPrompt) error {
	return a.tracer.write(ctx, "save_prompt", func(ctx context.Context) error {
		return a.Archive.SavePrompt(ctx, user, k)
	})
}
