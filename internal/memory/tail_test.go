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

// listener is an index that notes what each batch follows.
type listener struct {
	*world
	before []string
}

func (l *listener) IndexBatches(ctx context.Context, batches []recall.Batch) []error {
	for _, b := range batches {
		l.before = append(l.before, b.Before["s"])
	}
	return l.world.IndexBatches(ctx, batches)
}

func said(seq int, role conversation.Role, text string) conversation.Change {
	c := change(seq)
	c.Message.Role, c.Message.Content = role, text
	return c
}

// TestAMessageIsIndexedWithWhatItAnswers delivers one message at a time, as a chat does.
func TestAMessageIsIndexedWithWhatItAnswers(t *testing.T) {
	l := &listener{world: newWorld(9)}
	service := memory.New(l, l)
	calls := map[string]int{}
	l.fail = func(op string) error { calls[op]++; return nil }
	long := strings.Repeat("é", 1000)
	for _, c := range []conversation.Change{
		said(1, conversation.User, "Which exercise instead?"),
		said(2, conversation.Assistant, long),
		said(3, conversation.System, "hidden"),
		said(4, conversation.User, "Yes."),
		said(2, conversation.Assistant, long), // once more
		said(5, conversation.Assistant, "Good."),
	} {
		if _, err := service.Consume(t.Context(), []conversation.Change{c}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"", "Which exercise instead?", strings.Repeat("é", 200), "", "", "Yes."}
	if diff := cmp.Diff(want, l.before); diff != "" {
		t.Errorf("what each batch follows (-want +got)\n%s", diff)
	}
	if calls["messages"] != 0 {
		t.Errorf("%d reads of messages, want none", calls["messages"])
	}
}

// TestAPanicReachesTheCaller has marking panic in a worker: the stream's handler can set the record aside.
func TestAPanicReachesTheCaller(t *testing.T) {
	w := newWorld(2)
	w.fail = func(op string) error {
		if op == "mark" {
			panic("nil map")
		}
		return nil
	}
	defer func() {
		if recover() == nil {
			t.Error("the caller did not hear of the panic")
		}
	}()
	_, _ = memory.New(w, w).Consume(t.Context(), []conversation.Change{change(2)})
}
