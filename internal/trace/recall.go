package trace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// The stores that a search looks through, as memories.
const (
	storeRecords   = "records"
	storeSummaries = "summaries"
	storeMessages  = "messages"
	storeMemories  = "memories"
	storeDocuments = "documents"
)

// Recall makes a span of each search.
type Recall struct {
	*recall.Service
	tracer *Tracer
}

// Recall returns the service with spans.
func (t *Tracer) Recall(s *recall.Service) *Recall { return &Recall{s, t} }

// Search searches for a prompt.
func (r *Recall) Search(ctx context.Context, user conversation.UserID, q recall.Search) (recall.Found, error) {
	return searched(ctx, r, storeRecords, q.Text, func(ctx context.Context) (recall.Found, error) {
		return r.Service.Search(ctx, user, q)
	}, func(f recall.Found) (int, []recall.Degradation) { return len(f.Hits), f.Degraded })
}

// Query finds summaries.
func (r *Recall) Query(ctx context.Context, user conversation.UserID, q recall.ContextQuery) (recall.Summaries, error) {
	return searched(ctx, r, storeSummaries, q.Query, func(ctx context.Context) (recall.Summaries, error) {
		return r.Service.Query(ctx, user, q)
	}, countSummaries)
}

// Recent returns the newest summaries.
func (r *Recall) Recent(ctx context.Context, user conversation.UserID, q recall.RecentQuery) (recall.Summaries, error) {
	return searched(ctx, r, storeSummaries, "", func(ctx context.Context) (recall.Summaries, error) {
		return r.Service.Recent(ctx, user, q)
	}, countSummaries)
}

func countSummaries(s recall.Summaries) (int, []recall.Degradation) {
	return len(s.Summaries), s.Degraded
}

// Messages finds messages.
func (r *Recall) Messages(
	ctx context.Context, user conversation.UserID, q recall.MessageQuery,
) (recall.Records, error) {
	return searched(ctx, r, storeMessages, q.Query, func(ctx context.Context) (recall.Records, error) {
		return r.Service.Messages(ctx, user, q)
	}, countRecords)
}

// Memories finds memories.
func (r *Recall) Memories(
	ctx context.Context, user conversation.UserID, q recall.MemoryQuery,
) (recall.Records, error) {
	return searched(ctx, r, storeMemories, q.Query, func(ctx context.Context) (recall.Records, error) {
		return r.Service.Memories(ctx, user, q)
	}, countRecords)
}

// Records finds records of all kinds.
func (r *Recall) Records(ctx context.Context, user conversation.UserID, q recall.RecordQuery) (recall.Records, error) {
	return searched(ctx, r, storeRecords, q.Query, func(ctx context.Context) (recall.Records, error) {
		return r.Service.Records(ctx, user, q)
	}, countRecords)
}

// Documents finds documents.
func (r *Recall) Documents(
	ctx context.Context, user conversation.UserID, q recall.DocumentQuery,
) (recall.Records, error) {
	return searched(ctx, r, storeDocuments, q.Query, func(ctx context.Context) (recall.Records, error) {
		return r.Service.Documents(ctx, user, q)
	}, countRecords)
}

func countRecords(r recall.Records) (int, []recall.Degradation) { return len(r.Records), r.Degraded }

// searched makes a span of a search.
func searched[T any](
	ctx context.Context, r *Recall, store, text string, search func(context.Context) (T, error),
	count func(T) (int, []recall.Degradation),
) (T, error) {
	t := r.tracer
	if t == nil {
		return search(ctx)
	}
	attributes := []attribute.KeyValue{
		attribute.String(operationName, opSearchMemory), attribute.String(memoryStoreID, store),
	}
	if t.content && text != "" {
		attributes = append(attributes, attribute.String(memoryQuery, text))
	}
	ctx, span := t.start(ctx, opSearchMemory, otel.SpanKindInternal, attributes...)
	found, err := search(ctx)
	if err == nil {
		n, without := count(found)
		span.SetAttributes(attribute.Int(memoryCount, n))
		span.SetAttributes(missing(without)...)
	}
	end(span, err)
	return found, err
}
