package trace

import (
	"context"
	"io"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/vector"
)

// Router makes the router's indexes make a span of each query and of each change.
func (t *Tracer) Router(r *vector.Router) *vector.Router {
	if t == nil {
		return r
	}
	traced := *r
	traced.Indexes = make(map[string]vector.Index, len(r.Indexes))
	for name, x := range r.Indexes {
		traced.Indexes[name] = &index{x, t, name}
	}
	return &traced
}

// index makes spans of the calls of an index, which users' records call by a name.
type index struct {
	vector.Index
	tracer *Tracer
	name   string
}

func (x *index) start(ctx context.Context, operation string, kind string, more ...attribute.KeyValue) (
	context.Context, otel.Span,
) {
	return x.tracer.start(ctx, operation+" "+x.name, otel.SpanKindClient, append(more,
		attribute.String(dbSystem, x.Source()), attribute.String(dbOperation, kind),
		attribute.String(dbCollection, x.name))...)
}

// Query implements vector.Querier.
func (x *index) Query(
	ctx context.Context, user conversation.UserID, generation int64, q vector.Query,
) ([]vector.Match, error) {
	ctx, span := x.start(ctx, opRetrieval, "query", attribute.String(operationName, opRetrieval),
		attribute.String(dataSourceID, x.name), attribute.Int(requestTopK, q.TopK))
	matches, err := x.Index.Query(ctx, user, generation, q)
	span.SetAttributes(attribute.Int(dbReturned, len(matches)))
	end(span, err)
	return matches, err
}

// Upsert implements vector.Writer.
func (x *index) Upsert(
	ctx context.Context, user conversation.UserID, generation int64, records []vector.Record,
) error {
	ctx, span := x.start(ctx, "upsert", "upsert", attribute.Int(dbBatch, len(records)))
	err := x.Index.Upsert(ctx, user, generation, records)
	end(span, err)
	return err
}

// Delete implements vector.Deleter.
func (x *index) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	ctx, span := x.start(ctx, "delete", "delete", attribute.Int(dbBatch, len(ids)))
	err := x.Index.Delete(ctx, user, generation, ids)
	end(span, err)
	return err
}

// Drop implements vector.Deleter.
func (x *index) Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error) {
	ctx, span := x.start(ctx, "drop", "delete")
	n, err := x.Index.Drop(ctx, user, generation)
	end(span, err)
	return n, err
}

// Close closes the index where it can be closed.
func (x *index) Close() error {
	if c, ok := x.Index.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
