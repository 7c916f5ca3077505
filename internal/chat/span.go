package chat

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/span"
)

// turnSpan is the span of a turn.
type turnSpan struct {
	span.Span
	began time.Time
}

func (s *Service) startSpan(ctx context.Context, sessionID, agentID string) (context.Context, turnSpan) {
	name, agent := "invoke_agent", ""
	if a, known := registry.Live().Agent(agentID); known { // a name that nobody checked has no bound
		name, agent = name+" "+a.ID, a.ID
	}
	ctx, of := span.Start(ctx, name)
	of.Set(span.Operation, "invoke_agent")
	of.Set(span.Agent, agent)
	of.Set(span.Session, sessionID)
	return ctx, turnSpan{of, s.Now()}
}

// watch has the span end with the stream of the answer, and say what the stream says.
func (t turnSpan) watch(a Answer, now func() time.Time) Answer {
	t.Set("throughline.replayed", a.Replayed)
	events := a.Events
	a.Events = func(yield func(Event) bool) {
		var failure error
		defer func() { t.End(failure) }()
		isFirst := true
		events(func(e Event) bool {
			switch data := e.Data.(type) {
			case Built:
				t.Set("throughline.prompt.id", data.PromptID)
			case Token:
				if isFirst {
					t.Set(span.FirstChunk, now().Sub(t.began).Seconds())
				}
				isFirst = false
			case Done:
				t.done(data)
			case error:
				failure = data
			}
			return yield(e)
		})
	}
	return a
}

// done sets what the model says of its answer. Some services count no tokens.
func (t turnSpan) done(d Done) {
	t.Set(span.Model, d.Model)
	if d.FinishReason != "" {
		t.Set(span.FinishReasons, []string{d.FinishReason})
	}
	if d.Usage.TotalTokens > 0 {
		t.Set(span.InputTokens, d.Usage.PromptTokens)
		t.Set(span.CachedTokens, d.Usage.CachedTokens)
		t.Set(span.OutputTokens, d.Usage.CompletionTokens)
	}
}
