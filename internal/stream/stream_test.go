package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/event"
	"github.com/throughline/throughline/internal/stream"
	"github.com/throughline/throughline/internal/testing/check"
)

// batch returns an event with two records that cannot be decoded and one that no consumer needs.
func batch(t *testing.T) events.DynamoDBEvent {
	t.Helper()
	raw := check.Got(os.ReadFile("testdata/batch.json"))(t)
	var event events.DynamoDBEvent
	check.OK(t, json.Unmarshal(raw, &event))
	return event
}

func decode(record events.DynamoDBEventRecord) (conversation.Change, bool, error) {
	switch kind := record.Change.NewImage["kind"]; {
	case kind.DataType() == events.DataTypeNumber:
		panic("accessor called for the wrong type")
	case kind.String() == "other":
		return conversation.Change{}, false, nil
	case kind.String() == "broken":
		return conversation.Change{}, false, errors.New("no seq")
	}
	return conversation.Change{Sequence: record.Change.SequenceNumber}, true, nil
}

type consumer struct {
	got      []string
	stopAt   int
	panicsOn string
	deadline time.Time
}

func (c *consumer) Consume(ctx context.Context, changes []conversation.Change) (int, error) {
	c.deadline, _ = ctx.Deadline()
	if slices.ContainsFunc(changes, func(change conversation.Change) bool { return change.Sequence == c.panicsOn }) {
		panic("nil map")
	}
	for i, change := range changes {
		if c.stopAt > 0 && i == c.stopAt {
			return i, errors.New("throttled")
		}
		c.got = append(c.got, change.Sequence)
	}
	return len(changes), nil
}

func TestHandler(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		consumer consumer
		got      []string
		again    []string
	}{
		{"all done, poison passed over", consumer{}, []string{"100", "500"}, nil},
		{"a record that may succeed later", consumer{stopAt: 1}, []string{"100"}, []string{"500"}},
		{"a consumer that panics over the first", consumer{panicsOn: "100"}, []string{"500"}, nil},
		{"a consumer that panics over the last", consumer{panicsOn: "500"}, []string{"100"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			handle := stream.Handler(decode, &test.consumer, slog.New(slog.DiscardHandler))
			response := check.Got(handle(t.Context(), batch(t)))(t)
			var again []string
			for _, f := range response.BatchItemFailures {
				again = append(again, f.ItemIdentifier)
			}
			check.Same(t, test.got, test.consumer.got, "consumed")
			check.Same(t, test.again, again, "to be delivered again")
		})
	}
}

// TestASetAsideRecordIsFound expects that the log says where each record is that is set aside, and not whose it is.
func TestASetAsideRecordIsFound(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	handle := stream.Handler(decode, &consumer{panicsOn: "100"}, slog.New(slog.NewJSONHandler(&lines, nil)))
	event := batch(t)
	delete(event.Records[1].Change.Keys, "sk") // the log has what there is
	check.Got(handle(t.Context(), event))(t)
	for _, want := range []string{
		`"stream":"` + event.Records[0].EventSourceArn + `","sequence":"100","event":"e100","sk":"msg#100"`,
		`"sequence":"200","event":"e200","sk":""`,
	} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("no %s in\n%s", want, lines.String())
		}
	}
	check.Lacks(t, lines.String(), "user#", "the log names the user")
}

// TestTimeIsLeftForTheAnswer checks that a consumer's deadline is before the end of the invocation.
func TestTimeIsLeftForTheAnswer(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(time.Minute)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	c := &consumer{}
	handle := stream.Handler(decode, c, slog.New(slog.DiscardHandler))
	check.Got(handle(ctx, batch(t)))(t)
	if left := end.Sub(c.deadline); left != stream.Reserve {
		t.Errorf("%v are left for the answer, want %v", left, stream.Reserve)
	}
}

// failing is a consumer that panics on a batch and fails on a single change.
type failing struct{ calls int }

func (f *failing) Consume(_ context.Context, changes []conversation.Change) (int, error) {
	if f.calls++; len(changes) > 1 {
		panic("nil map")
	}
	return 0, errors.New("throttled")
}

// TestAPanicDoesNotHideAFailure checks that a change that fails after a panic of the batch is delivered again.
func TestAPanicDoesNotHideAFailure(t *testing.T) {
	t.Parallel()
	f := &failing{}
	response, err := stream.Handler(decode, f, slog.New(slog.DiscardHandler))(t.Context(), batch(t))
	if err != nil || len(response.BatchItemFailures) != 1 || response.BatchItemFailures[0].ItemIdentifier != "100" ||
		f.calls != 2 {
		t.Errorf("%+v, %v after %d calls, want 100 to come again after 2", response, err, f.calls)
	}
}

// TestPublishing publishes what a batch tells the app but for a record that cannot be read, and has the whole batch
// delivered again where that fails.
func TestPublishing(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for _, failure := range []error{nil, down} {
		var published []string
		decode := func(r events.DynamoDBEventRecord) ([]event.Event, error) {
			if r.Change.SequenceNumber == "200" {
				return nil, errors.New("broken")
			}
			return []event.Event{{ID: r.Change.SequenceNumber}}, nil
		}
		publish := func(_ context.Context, all []event.Event) error {
			for _, e := range all {
				published = append(published, e.ID)
			}
			return failure
		}
		next := func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
			failed := []events.DynamoDBBatchItemFailure{{ItemIdentifier: "500"}}
			return events.DynamoDBEventResponse{BatchItemFailures: failed}, nil
		}
		in := batch(t)
		got, err := stream.Publishing(decode, publish, next, slog.New(slog.DiscardHandler))(t.Context(), in)
		want := "500"
		if failure != nil {
			want = in.Records[0].Change.SequenceNumber
		}
		if err != nil || got.BatchItemFailures[0].ItemIdentifier != want || len(published) != len(in.Records)-1 {
			t.Errorf("%v: %+v, %v, published %v", failure, got, err, published)
		}
	}
}
