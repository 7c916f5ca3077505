package prompt

import (
	"context"

	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/span"
)

// promptSpan is the span of a prompt.
type promptSpan struct{ span.Span }

func startSpan(ctx context.Context, r Request) (context.Context, promptSpan) {
	ctx, of := span.Start(ctx, "build_prompt")
	of.Set(span.Session, r.SessionID)
	of.Set("throughline.embedding.ahead", r.Ahead != nil && r.Ahead.Embedding != nil)
	return ctx, promptSpan{of}
}

func (s promptSpan) end(p Prompt, err error) {
	if err == nil {
		s.Set("throughline.prompt.id", p.ID)
		s.Set("throughline.prompt.recipe", p.Recipe)
		s.Set("throughline.prompt.tokens", p.Tokens.Total)
		s.Set("throughline.prompt.budget", p.Tokens.Budget)
		s.Set("throughline.degraded", recall.Sources(p.Manifest.Degraded))
	}
	s.End(err)
}
