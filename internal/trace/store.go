package trace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/longterm"
)

// write makes a span of a write.
func (t *Tracer) write(
	ctx context.Context, name string, do func(ctx context.Context) error, attributes ...attribute.KeyValue,
) error {
	ctx, span := t.start(ctx, name, otel.SpanKindInternal, attributes...)
	err := do(ctx)
	end(span, err)
	return err
}

// remember makes a span of a write of one memory.
func (t *Tracer) remember(
	ctx context.Context, operation, store string, do func(ctx context.Context) error,
	more ...attribute.KeyValue,
) error {
	return t.write(ctx, operation, do, append(more, attribute.String(operationName, operation),
		attribute.String(memoryStoreID, store), attribute.Int(memoryCount, 1))...)
}

// TurnStore returns a store that makes a span of each turn that begins or ends.
func (t *Tracer) TurnStore(next conversation.TurnStore) conversation.TurnStore {
	if t == nil {
		return next
	}
	return turnStore{next, t}
}

type turnStore struct {
	conversation.TurnStore
	tracer *Tracer
}

// BeginTurn implements conversation.TurnStore.
func (s turnStore) BeginTurn(
	ctx context.Context, user conversation.UserID, in conversation.Append, lease time.Duration,
) (turn conversation.Turn, err error) {
	err = s.tracer.write(ctx, "store_question", func(ctx context.Context) (err error) {
		turn, err = s.TurnStore.BeginTurn(ctx, user, in, lease)
		return err
	}, attribute.Int(recordCount, len(in.Messages)))
	return turn, err
}

// FinishTurn implements conversation.TurnStore.
func (s turnStore) FinishTurn(
	ctx context.Context, user conversation.UserID, turn conversation.Turn, answer conversation.NewMessage,
) (stored conversation.Message, err error) {
	err = s.tracer.write(ctx, "store_answer", func(ctx context.Context) (err error) {
		stored, err = s.TurnStore.FinishTurn(ctx, user, turn, answer)
		return err
	}, attribute.Int(recordCount, 1))
	return stored, err
}

// Appender is a store of messages with what else its user needs of it.
type Appender interface {
	conversation.MessageStore
	IsMigrated(ctx context.Context, user conversation.UserID) (bool, error)
}

// MessageStore returns a store that makes a span of each append.
func (t *Tracer) MessageStore(next Appender) Appender {
	if t == nil {
		return next
	}
	return messageStore{next, t}
}

type messageStore struct {
	Appender
	tracer *Tracer
}

// Append implements conversation.MessageStore.
func (s messageStore) Append(
	ctx context.Context, user conversation.UserID, in conversation.Append,
) (out conversation.Appended, err error) {
	err = s.tracer.write(inConversation(ctx, in.SessionID), "append_messages", func(ctx context.Context) (err error) {
		out, err = s.Appender.Append(ctx, user, in)
		return err
	}, attribute.Int(recordCount, len(in.Messages)))
	return out, err
}

// Memories returns a store of memories that makes a span of each change.
func (t *Tracer) Memories(next longterm.Collection[longterm.Memory]) longterm.Collection[longterm.Memory] {
	if t == nil {
		return next
	}
	return memories{next, t}
}

type memories struct {
	longterm.Collection[longterm.Memory]
	tracer *Tracer
}

// Create implements longterm.Collection.
func (m memories) Create(
	ctx context.Context, user conversation.UserID, record longterm.Memory, idem conversation.Idempotency,
) (stored longterm.Memory, isReplayed bool, err error) {
	err = m.tracer.remember(ctx, opCreateMemory, storeMemories, func(ctx context.Context) (err error) {
		stored, isReplayed, err = m.Collection.Create(ctx, user, record, idem)
		otel.SpanFromContext(ctx).SetAttributes(attribute.String(memoryRecordID, stored.ID))
		return err
	})
	return stored, isReplayed, err
}

// Update implements longterm.Collection.
func (m memories) Update(
	ctx context.Context, user conversation.UserID, id string, change func(*longterm.Memory) error,
) (stored longterm.Memory, err error) {
	err = m.tracer.remember(ctx, opUpdateMemory, storeMemories, func(ctx context.Context) (err error) {
		stored, err = m.Collection.Update(ctx, user, id, change)
		return err
	}, attribute.String(memoryRecordID, id))
	return stored, err
}

// Delete implements longterm.Collection.
func (m memories) Delete(ctx context.Context, user conversation.UserID, id string) error {
	return m.tracer.remember(ctx, opDeleteMemory, storeMemories, func(ctx context.Context) error {
		return m.Collection.Delete(ctx, user, id)
	}, attribute.String(memoryRecordID, id))
}

// DocumentStore stores documents.
type DocumentStore interface {
	document.Reader
	document.Writer
}

// Documents returns a store of documents that makes a span of each change.
func (t *Tracer) Documents(next DocumentStore) DocumentStore {
	if t == nil {
		return next
	}
	return documents{next, t}
}

type documents struct {
	DocumentStore
	tracer *Tracer
}

// PutDocument implements document.Writer.
func (d documents) PutDocument(
	ctx context.Context, user conversation.UserID, in document.Document,
) (stored document.Document, isNew bool, err error) {
	err = d.tracer.remember(ctx, opUpsertMemory, storeDocuments, func(ctx context.Context) (err error) {
		stored, isNew, err = d.DocumentStore.PutDocument(ctx, user, in)
		return err
	})
	return stored, isNew, err
}

// DeleteDocument implements document.Writer.
func (d documents) DeleteDocument(
	ctx context.Context, user conversation.UserID, n document.Namespace, key string,
) error {
	return d.tracer.remember(ctx, opDeleteMemory, storeDocuments, func(ctx context.Context) error {
		return d.DocumentStore.DeleteDocument(ctx, user, n, key)
	})
}
