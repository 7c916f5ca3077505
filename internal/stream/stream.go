// Package stream is the Lambda side of the table's stream: it decodes a batch, hands it to a consumer in order, and
// answers with the record to begin again from. Records are redelivered, late and interleaved; a consumer makes nothing
// of one that it has seen.
package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/metric"
)

// Decoder reads one record. It is false for a record that is neither a session nor a message, and fails on one that
// claims to be but cannot be read.
type Decoder func(record events.DynamoDBEventRecord) (change conversation.Change, ok bool, err error)

// Consumer works changes off in order. It returns how many of them, from the first, need not be delivered again; an
// error says why the next one has to be.
type Consumer interface {
	Consume(ctx context.Context, changes []conversation.Change) (done int, err error)
}

// Reserve is what a batch leaves of the invocation's time, to answer with how far it came.
const Reserve = time.Second

// Handler returns the handler of a stream mapping that reports batch item failures. A record that cannot be read, or
// that the consumer panics over, is poison: it is logged by its sequence number, counted, and passed over, so that one
// record cannot hold up a shard.
// A batch that cannot be finished ends with the sequence number of the first change that has to come again.
func Handler(decode Decoder, consumer Consumer, log *slog.Logger) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	h := handler{decode: decode, consumer: consumer, log: log}
	return h.handle
}

type handler struct {
	decode   Decoder
	consumer Consumer
	log      *slog.Logger
}

func (h handler) handle(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-Reserve))
		defer cancel()
	}
	changes := h.readAll(ctx, event.Records)
	metric.Add(ctx, "Records", float64(len(event.Records)), metric.Count)
	done, err := h.consume(ctx, changes)
	if err == nil && done == len(changes) {
		return events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}, nil
	}
	next := changes[min(done, len(changes)-1)].Sequence
	metric.Add(ctx, "BatchesCut", 1, metric.Count)
	h.log.WarnContext(ctx, "batch is not finished", "done", done, "of", len(changes), "next", next, "error", fmt.Sprint(err))
	return events.DynamoDBEventResponse{
		BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: next}},
	}, nil
}

func (h handler) readAll(ctx context.Context, records []events.DynamoDBEventRecord) []conversation.Change {
	changes := make([]conversation.Change, 0, len(records))
	for _, record := range records {
		change, ok, err := h.read(record)
		if err != nil {
			h.setAside(ctx, record.Change.SequenceNumber, err)
			continue
		}
		if ok {
			changes = append(changes, change)
		}
	}
	return changes
}

// read decodes a record; a decoder that panics on it makes it poison, not the batch.
func (h handler) read(record events.DynamoDBEventRecord) (change conversation.Change, ok bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("decode record: panic: %T", v) // its text may quote the record
		}
	}()
	return h.decode(record)
}

// consume runs the consumer on the whole batch. Where it panics, the changes are taken one by one, so that only the one
// that it panics over is poison: what is done again changes nothing.
func (h handler) consume(ctx context.Context, changes []conversation.Change) (done int, err error) {
	if len(changes) == 0 {
		return 0, nil
	}
	done, err = h.attempt(ctx, changes)
	if !errors.Is(err, errPanicked) {
		return done, err
	}
	for i, change := range changes {
		if err := ctx.Err(); err != nil {
			return i, err
		}
		_, err := h.attempt(ctx, []conversation.Change{change})
		if errors.Is(err, errPanicked) {
			h.setAside(ctx, change.Sequence, err)
		} else if err != nil {
			return i, err
		}
	}
	return len(changes), nil
}

// errPanicked is a consumer that panicked.
var errPanicked = errors.New("consumer panicked")

// attempt runs the consumer once.
func (h handler) attempt(ctx context.Context, changes []conversation.Change) (done int, err error) {
	defer func() {
		if v := recover(); v != nil {
			h.log.ErrorContext(ctx, "consumer panicked", "panic", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			done, err = 0, errPanicked
		}
	}()
	return h.consumer.Consume(ctx, changes)
}

// setAside counts and logs a record that no delivery can mend. The watermarks still know what it was about.
func (h handler) setAside(ctx context.Context, sequence string, err error) {
	metric.Add(ctx, "PoisonRecords", 1, metric.Count)
	h.log.ErrorContext(ctx, "record set aside", "sequence", sequence, "error", err.Error())
}
