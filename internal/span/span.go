// Package span makes the spans of the domain: of a turn, a prompt and a search. They are below the span of the
// invocation that the context has. Where no collector is configured there is none, and nothing is made.
//
// A span has ids of sessions and prompts, names, numbers and codes of errors. It never has an id of a user or a text.
package span

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/throughline/throughline/internal/fault"
)

// The attributes of OpenTelemetry's conventions for generative AI that spans of the domain have.
const (
	Operation     = "gen_ai.operation.name"
	Session       = "gen_ai.conversation.id"
	Agent         = "gen_ai.agent.name"
	Model         = "gen_ai.response.model"
	FinishReasons = "gen_ai.response.finish_reasons"
	FirstChunk    = "gen_ai.response.time_to_first_chunk"
	InputTokens   = "gen_ai.usage.input_tokens"
	CachedTokens  = "gen_ai.usage.cache_read.input_tokens"
	OutputTokens  = "gen_ai.usage.output_tokens"
	Records       = "gen_ai.memory.record.count"
	errorType     = "error.type"
)

// scope names what made a span.
const scope = "github.com/throughline/throughline"

// Span is a span that has begun, or none.
type Span struct{ of trace.Span }

// Start begins a span below that of the context. The context that it returns has the new one.
func Start(ctx context.Context, name string) (context.Context, Span) {
	above := trace.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, Span{above}
	}
	ctx, of := above.TracerProvider().Tracer(scope).Start(ctx, name)
	return ctx, Span{of}
}

// Set sets an attribute to a text, a number, a list of texts or a boolean. It sets no empty text and no empty list.
func (s Span) Set(name string, value any) {
	if !s.of.IsRecording() {
		return
	}
	switch value := value.(type) {
	case string:
		if value != "" {
			s.of.SetAttributes(attribute.String(name, value))
		}
	case []string:
		if len(value) > 0 {
			s.of.SetAttributes(attribute.StringSlice(name, value))
		}
	case int:
		s.of.SetAttributes(attribute.Int(name, value))
	case float64:
		s.of.SetAttributes(attribute.Float64(name, value))
	case bool:
		s.of.SetAttributes(attribute.Bool(name, value))
	}
}

// End ends the span. That of an error has the error's code and never its text, which may be a vendor's.
func (s Span) End(err error) {
	if err != nil {
		s.Set(errorType, codeOf(err))
		s.of.SetStatus(codes.Error, "")
	}
	s.of.End()
}

func codeOf(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return string(fault.CodeOf(err))
}
