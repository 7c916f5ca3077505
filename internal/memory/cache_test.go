package memory_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/memory"
	"github.com/throughline/throughline/internal/recall"
)

// recorder is an index that records the previous message of each batch.
type recorder struct {
	*fake
	previous []string
}

func (r *recorder) IndexBatches(ctx context.Context, batches []recall.Batch) []error {
	for _, b := range batches {
		r.previous = append(r.previous, b.Previous["s"])
	}
	return r.fake.IndexBatches(ctx, batches)
}

func messageChange(seq int, role conversation.Role, text string) conversation.Change {
	c := change(seq)
	c.Message.Role, c.Message.Content = role, text
	return c
}

// TestAMessageIsIndexedWithThePreviousOne delivers one message at a time, as a chat does.
func TestAMessageIsIndexedWithThePreviousOne(t *testing.T) {
	t.Parallel()
	r := &recorder{fake: newFake(9)}
	service := memory.New(r, r)
	calls := map[string]int{}
	r.fail = func(op string) error { calls[op]++; return nil }
	long := strings.Repeat("é", 1000)
	for _, c := range []conversation.Change{
		messageChange(1, conversation.User, "Which exercise instead?"),
		messageChange(2, conversation.Assistant, long),
		messageChange(3, conversation.System, "hidden"),
		messageChange(4, conversation.User, "Yes."),
		messageChange(2, conversation.Assistant, long), // delivered again
		messageChange(5, conversation.Assistant, "Good."),
	} {
		if _, err := service.Consume(t.Context(), []conversation.Change{c}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"", "Which exercise instead?", strings.Repeat("é", 200), "", "", "Yes."}
	if diff := cmp.Diff(want, r.previous); diff != "" {
		t.Errorf("previous messages (-want +got)\n%s", diff)
	}
	if calls["messages"] != 0 {
		t.Errorf("%d reads of messages, want none", calls["messages"])
	}
}

// TestAPanicReachesTheCaller has marking panic in a worker. The handler of the stream recovers and sets the record
// aside.
func TestAPanicReachesTheCaller(t *testing.T) {
	t.Parallel()
	f := newFake(2)
	f.fail = func(op string) error {
		if op == "mark" {
			panic("nil map")
		}
		return nil
	}
	defer func() {
		if recover() == nil {
			t.Error("the panic did not reach the caller")
		}
	}()
	_, _ = memory.New(f, f).Consume(t.Context(), []conversation.Change{change(2)})
}
