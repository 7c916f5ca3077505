package trace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/registry"
)

// Turns makes a span of each turn of the chat.
type Turns struct {
	*chat.Service
	tracer *Tracer
}

// Turns returns the service with spans.
func (t *Tracer) Turns(s *chat.Service) Turns { return Turns{s, t} }

// Start starts a turn. Its span ends with the stream of the answer, or at once where there is none.
func (s Turns) Start(ctx context.Context, user conversation.UserID, r chat.Request) (chat.Answer, error) {
	if s.tracer == nil {
		return s.Service.Start(ctx, user, r)
	}
	began := s.tracer.now()
	ctx, span := s.tracer.startTurn(ctx, r.SessionID, r.AgentID)
	answer, err := s.Service.Start(ctx, user, r)
	if err != nil {
		end(span, err)
		return answer, err
	}
	span.SetAttributes(attribute.Bool(replayed, answer.Replayed))
	events := answer.Events
	answer.Events = func(yield func(chat.Event) bool) {
		var failure error
		defer func() { end(span, failure) }()
		isFirst := true
		events(func(e chat.Event) bool {
			switch data := e.Data.(type) {
			case chat.Built:
				span.SetAttributes(attribute.String(promptID, data.PromptID))
			case chat.Token:
				if isFirst {
					isFirst = false
					span.SetAttributes(attribute.Float64(firstChunk, s.tracer.now().Sub(began).Seconds()))
				}
			case chat.Done:
				span.SetAttributes(doneAttributes(data)...)
			case error:
				failure = data
			}
			return yield(e)
		})
	}
	return answer, nil
}

// startTurn begins the span of a turn. All spans in it have the session's id.
func (t *Tracer) startTurn(ctx context.Context, sessionID, agentID string) (context.Context, otel.Span) {
	name, attributes := opInvokeAgent, []attribute.KeyValue{attribute.String(operationName, opInvokeAgent)}
	if a, known := registry.Live().Agent(agentID); known { // a name that nobody checked has no bound
		name, attributes = name+" "+a.ID, append(attributes, attribute.String(agentName, a.ID))
	}
	return t.start(inConversation(ctx, sessionID), name, otel.SpanKindInternal, attributes...)
}

func doneAttributes(d chat.Done) []attribute.KeyValue {
	out := usage(d.Usage)
	if d.FinishReason != "" {
		out = append(out, attribute.StringSlice(finishReasons, []string{d.FinishReason}))
	}
	if d.Model != "" {
		out = append(out, attribute.String(responseModel, d.Model))
	}
	return out
}

// BeginOwn begins a turn of the app's own model. Its span ends with the prompt.
func (s Turns) BeginOwn(ctx context.Context, user conversation.UserID, r chat.OwnRequest) (chat.OwnTurn, error) {
	if s.tracer == nil {
		return s.Service.BeginOwn(ctx, user, r)
	}
	ctx, span := s.tracer.startTurn(ctx, r.SessionID, r.AgentID)
	turn, err := s.Service.BeginOwn(ctx, user, r)
	if err == nil {
		span.SetAttributes(attribute.String(promptID, turn.Prompt.ID), attribute.Bool(replayed, turn.Replayed))
	}
	end(span, err)
	return turn, err
}

// FinishOwn ends a turn of the app's own model. Its span has what the app says of the answer.
func (s Turns) FinishOwn(
	ctx context.Context, user conversation.UserID, turnID string, a chat.OwnAnswer,
) (chat.OwnEnd, error) {
	if s.tracer == nil {
		return s.Service.FinishOwn(ctx, user, turnID, a)
	}
	ctx, span := s.tracer.start(ctx, "finish_turn", otel.SpanKindInternal,
		doneAttributes(chat.Done{Usage: a.Usage, FinishReason: a.FinishReason, Model: a.Model})...)
	ended, err := s.Service.FinishOwn(ctx, user, turnID, a)
	if err == nil {
		span.SetAttributes(attribute.String(conversationID, ended.Session.ID))
	}
	end(span, err)
	return ended, err
}
