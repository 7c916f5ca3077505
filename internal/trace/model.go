package trace

import (
	"context"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/metered"
	"github.com/throughline/throughline/internal/vector"
)

// Model names a model and its service.
type Model struct {
	Name string
	// BaseURL is the address of the service, which has OpenAI's interface.
	BaseURL string
	// Dimensions is that of an embedding model.
	Dimensions int
}

// attributes are those of every call of the model.
func (m Model) attributes(operation, model string) []attribute.KeyValue {
	out := []attribute.KeyValue{
		attribute.String(operationName, operation), attribute.String(providerName, "openai"),
		attribute.String(requestModel, model),
	}
	u, err := url.Parse(m.BaseURL)
	if err != nil || u.Hostname() == "" {
		return out
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	return append(out, attribute.String(serverAddress, u.Hostname()), attribute.Int(serverPort, port))
}

// Streamer returns a model that makes a span of each answer that it streams.
func (t *Tracer) Streamer(next chat.Streamer, m Model) chat.Streamer {
	if t == nil {
		return next
	}
	return &streamer{calls{t, m}, next}
}

// Completer returns a model that makes a span of each whole answer.
func (t *Tracer) Completer(next metered.Completer, m Model) metered.Completer {
	if t == nil {
		return next
	}
	return &completer{calls{t, m}, next}
}

// calls makes the spans of a model's answers.
type calls struct {
	*Tracer
	model Model
}

type streamer struct {
	calls
	next chat.Streamer
}

// Stream implements chat.Streamer.
func (s *streamer) Stream(ctx context.Context, r llm.Request, emit func(string) error) (llm.Completion, error) {
	ctx, span := s.begin(ctx, r, attribute.Bool(requestStream, true))
	began, isFirst := s.now(), true
	out, err := s.next.Stream(ctx, r, func(delta string) error {
		if isFirst {
			isFirst = false
			span.SetAttributes(attribute.Float64(firstChunk, s.now().Sub(began).Seconds()))
		}
		return emit(delta)
	})
	s.finish(span, out, err)
	return out, err
}

type completer struct {
	calls
	next metered.Completer
}

// Complete implements metered.Completer.
func (c *completer) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	ctx, span := c.begin(ctx, r)
	out, err := c.next.Complete(ctx, r)
	c.finish(span, out, err)
	return out, err
}

func (c calls) begin(ctx context.Context, r llm.Request, more ...attribute.KeyValue) (context.Context, otel.Span) {
	model := r.Model
	if model == "" {
		model = c.model.Name
	}
	attributes := append(c.model.attributes(opChat, model), more...)
	if r.MaxTokens > 0 {
		attributes = append(attributes, attribute.Int(requestMaxTokens, r.MaxTokens))
	}
	if r.Schema != nil {
		attributes = append(attributes, attribute.String(outputType, "json"))
	}
	if c.content {
		attributes = append(attributes, contentOf(r)...)
	}
	return c.start(ctx, opChat+" "+model, otel.SpanKindClient, attributes...)
}

// finish ends the span of an answer, which may have been cut.
func (c calls) finish(span otel.Span, out llm.Completion, err error) {
	span.SetAttributes(usage(out.Usage)...)
	if out.Model != "" {
		span.SetAttributes(attribute.String(responseModel, out.Model))
	}
	if out.FinishReason != "" {
		span.SetAttributes(attribute.StringSlice(finishReasons, []string{out.FinishReason}))
	}
	if c.content {
		span.SetAttributes(contentOfAnswer(out))
	}
	end(span, err)
}

// usage has no attribute where the service has said nothing.
func usage(u llm.Usage) []attribute.KeyValue {
	if u.TotalTokens == 0 {
		return nil
	}
	return []attribute.KeyValue{
		attribute.Int(inputTokens, u.PromptTokens), attribute.Int(cachedTokens, u.CachedTokens),
		attribute.Int(outputTokens, u.CompletionTokens),
	}
}

// Embedder returns an embedding model that makes a span of each call.
func (t *Tracer) Embedder(next vector.Embedder, m Model) vector.Embedder {
	if t == nil {
		return next
	}
	return &embedder{calls{t, m}, next}
}

type embedder struct {
	calls
	next vector.Embedder
}

// Embed implements vector.Embedder.
func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	attributes := append(e.model.attributes(opEmbeddings, e.model.Name),
		attribute.Int(dimensionCount, e.model.Dimensions), attribute.Int(embeddedTexts, len(texts)))
	ctx, span := e.start(ctx, opEmbeddings+" "+e.model.Name, otel.SpanKindClient, attributes...)
	out, err := e.next.Embed(ctx, texts)
	end(span, err)
	return out, err
}
