// Package stream handles events of the table's stream. It decodes a batch, passes it to a consumer in order, and
// reports the record from which Lambda has to deliver again. Records may come again, late and interleaved, so a
// consumer has to be idempotent.
package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/event"
	"github.com/throughline/throughline/internal/metric"
)

// Decoder decodes one record. ok is false for a record that no consumer needs. It returns an error for a record that
// should be decodable and is not.
type Decoder func(record events.DynamoDBEventRecord) (change conversation.Change, ok bool, err error)

// Consumer handles changes in order. It returns how many of them, from the first, need not be delivered again. The
// error says why the next one has to be.
type Consumer interface {
	Consume(ctx context.Context, changes []conversation.Change) (done int, err error)
}

// Reserve is the part of the invocation's time that a batch leaves for the response.
const Reserve = time.Second

// Handler returns the handler of an event source mapping that reports batch item failures. If a record cannot be
// decoded or the consumer panics on it, the handler logs where it is, counts it and skips it, so that one poison record
// cannot block a shard. If a batch cannot be finished, the response has the sequence number of the first
// change that has to be delivered again.
func Handler(
	decode Decoder, consumer Consumer, log *slog.Logger,
) Handle {
	h := handler{decode: decode, consumer: consumer, log: log}
	return h.handle
}

// Handle handles a batch of the stream.
type Handle = func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)

// Publishing returns a handler that publishes what a batch tells the app beside the work of another one. A batch whose
// events cannot be published is delivered again as a whole.
func Publishing(decode func(events.DynamoDBEventRecord) ([]event.Event, error),
	publish func(context.Context, []event.Event) error, next Handle, log *slog.Logger,
) Handle {
	h := handler{log: log}
	return func(ctx context.Context, batch events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		var all []event.Event
		for _, record := range batch.Records {
			decoded, err := decode(record)
			if err != nil {
				h.skip(ctx, record, err)
			}
			all = append(all, decoded...)
		}
		published := make(chan error, 1)
		go func() {
			publishing, cancel := inTime(ctx)
			defer cancel()
			published <- publish(publishing, all)
		}()
		response, err := next(ctx, batch)
		if failure := <-published; failure != nil {
			log.WarnContext(ctx, "events are not published", "error", failure.Error())
			response.BatchItemFailures = []events.DynamoDBBatchItemFailure{
				{ItemIdentifier: batch.Records[0].Change.SequenceNumber},
			}
		}
		return response, err
	}
}

// inTime returns a context that leaves time for the response.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-Reserve))
	}
	return context.WithCancel(ctx)
}

type handler struct {
	decode   Decoder
	consumer Consumer
	log      *slog.Logger
}

func (h handler) handle(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	ctx, cancel := inTime(ctx)
	defer cancel()
	changes := h.decodeAll(ctx, event.Records)
	metric.Add(ctx, "Records", float64(len(event.Records)), metric.Count)
	done, err := h.consume(ctx, event.Records, changes)
	if err == nil && done == len(changes) {
		return events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}, nil
	}
	next := changes[min(done, len(changes)-1)].Sequence
	metric.Add(ctx, "BatchesCut", 1, metric.Count)
	h.log.WarnContext(ctx, "batch is not finished",
		"done", done, "of", len(changes), "next", next, "error", fmt.Sprint(err))
	return events.DynamoDBEventResponse{
		BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: next}},
	}, nil
}

func (h handler) decodeAll(ctx context.Context, records []events.DynamoDBEventRecord) []conversation.Change {
	changes := make([]conversation.Change, 0, len(records))
	for _, record := range records {
		change, ok, err := h.decodeRecord(record)
		if err != nil {
			h.skip(ctx, record, err)
			continue
		}
		if ok {
			changes = append(changes, change)
		}
	}
	return changes
}

// decodeRecord turns a panic of the decoder into an error, so that only this record is poison.
func (h handler) decodeRecord(record events.DynamoDBEventRecord) (change conversation.Change, ok bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("decode record: panic: %T", v) // the panic's text may quote the record
		}
	}()
	return h.decode(record)
}

// consume runs the consumer on the whole batch. If it panics, consume passes the changes one by one, so that only the
// change that causes the panic is skipped. The consumer is idempotent, so it may see a change again. The records are
// those of the changes.
func (h handler) consume(
	ctx context.Context, records []events.DynamoDBEventRecord, changes []conversation.Change,
) (done int, err error) {
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
			at := slices.IndexFunc(records, func(r events.DynamoDBEventRecord) bool {
				return r.Change.SequenceNumber == change.Sequence
			})
			h.skip(ctx, records[at], err)
		} else if err != nil {
			return i, err
		}
	}
	return len(changes), nil
}

// errPanicked is the error of a consumer that panicked.
var errPanicked = errors.New("consumer panicked")

// attempt runs the consumer once and turns a panic into errPanicked.
func (h handler) attempt(ctx context.Context, changes []conversation.Change) (done int, err error) {
	defer func() {
		if v := recover(); v != nil {
			h.log.ErrorContext(ctx, "consumer panicked", "panic", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			done, err = 0, errPanicked
		}
	}()
	return h.consumer.Consume(ctx, changes)
}

// skip counts and logs a record that cannot be handled. The watermarks still show that its session has work to do. The
// line has no user: throughline record finds the whole key by the stream and the sequence number, for 24 hours.
func (h handler) skip(ctx context.Context, record events.DynamoDBEventRecord, err error) {
	metric.Add(ctx, "PoisonRecords", 1, metric.Count)
	h.log.ErrorContext(ctx, "record set aside", "stream", record.EventSourceArn,
		"sequence", record.Change.SequenceNumber, "event", record.EventID, "sk", text(record.Change.Keys["sk"]),
		"error", err.Error())
}

// text returns an attribute's text, empty for another type, on which String panics.
func text(v events.DynamoDBAttributeValue) string {
	if v.DataType() != events.DataTypeString {
		return ""
	}
	return v.String()
}
