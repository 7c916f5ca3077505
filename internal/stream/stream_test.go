package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/stream"
)

// batch is an event in the form of the service: two records that cannot be read and one that is not ours.
func batch(t *testing.T) events.DynamoDBEvent {
	t.Helper()
	raw, err := os.ReadFile("testdata/batch.json")
	if err != nil {
		t.Fatal(err)
	}
	var event events.DynamoDBEvent
	if err := json.Unmarshal(raw, &event); err != nil {
		t.Fatal(err)
	}
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
	panics   bool
	deadline time.Time
}

func (c *consumer) Consume(ctx context.Context, changes []conversation.Change) (int, error) {
	c.deadline, _ = ctx.Deadline()
	if c.panics {
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
	tests := []struct {
		name     string
		consumer consumer
		got      []string
		again    []string
	}{
		{"all done, poison passed over", consumer{}, []string{"100", "500"}, nil},
		{"a record that may succeed later", consumer{stopAt: 1}, []string{"100"}, []string{"500"}},
		{"a consumer that panics", consumer{panics: true}, nil, []string{"100"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			handle := stream.Handler(decode, &test.consumer, slog.New(slog.NewTextHandler(io.Discard, nil)))
			response, err := handle(t.Context(), batch(t))
			if err != nil {
				t.Fatal(err)
			}
			var again []string
			for _, f := range response.BatchItemFailures {
				again = append(again, f.ItemIdentifier)
			}
			if diff := cmp.Diff(test.got, test.consumer.got); diff != "" {
				t.Errorf("consumed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.again, again); diff != "" {
				t.Errorf("to be delivered again (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTimeIsLeftForTheAnswer checks that a consumer's deadline lies before the invocation's.
func TestTimeIsLeftForTheAnswer(t *testing.T) {
	end := time.Now().Add(time.Minute)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	c := &consumer{}
	handle := stream.Handler(decode, c, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if _, err := handle(ctx, batch(t)); err != nil {
		t.Fatal(err)
	}
	if left := end.Sub(c.deadline); left != stream.Reserve {
		t.Errorf("%v are left for the answer, want %v", left, stream.Reserve)
	}
}
