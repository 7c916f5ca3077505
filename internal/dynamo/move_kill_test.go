package dynamo_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/migration"
)

// killedNetwork ends a process at one of its remote calls.
type killedNetwork struct {
	mu     sync.Mutex
	calls  int
	at     int
	how    failure
	cancel context.CancelFunc
}

func (n *killedNetwork) call(op string, run func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	switch {
	case n.calls < n.at || n.how == answerLost && n.calls > n.at:
		return run()
	case n.calls > n.at:
		return errCrash
	}
	if n.how != answerLost {
		n.cancel()
	}
	return n.how.apply(op, run)
}

// theWay is a move through all placements and back.
var theWay = []conversation.Placement{
	conversation.Dual, conversation.Shared, conversation.Dual, conversation.Embedded, conversation.Shared,
}

// TestMoveIsKilled ends a move after each of its remote calls, and loses the answer of each. A writer then appends, and
// another process moves the session on.
func TestMoveIsKilled(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	for _, how := range []failure{crashAfter, answerLost} {
		t.Run(strconv.Itoa(int(how)), func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				user := conversation.UserID(fmt.Sprintf("u-%d-%d", how, at))
				if calls := a.killAt(t, user, at, how); calls < at {
					if at < 15 {
						t.Errorf("the way has %d calls only", calls)
					}
					return
				}
			}
		})
	}
}

// killAt moves a session with a failure at one call, and checks what is left and what is in the end. It returns how
// many calls were made until then.
func (a *appTable) killAt(t *testing.T, user conversation.UserID, at int, how failure) int {
	t.Helper()
	const messages = 101 // more than a transaction has
	var entries []any
	var want []string
	for i := range messages {
		want = append(want, fmt.Sprint("m", i))
		entries = append(entries, map[string]any{"role": "user", "content": want[i]})
	}
	r, err := attributevalue.MarshalMap(map[string]any{
		"pk": "user#" + string(user), "sk": "conversation#c", "attributes": map[string]any{"messages": entries},
	})
	if err != nil {
		t.Fatal(err)
	}
	a.put(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := &killedNetwork{at: at, how: how, cancel: cancel}
	killed := dynamo.New(&interceptor{api: a.client, call: n.call}, a.table, fixedClock(),
		dynamo.WithInitialStage(migration.Dual))
	for _, to := range theWay {
		if _, err := killed.Move(ctx, user, "c", to); err != nil {
			break
		}
	}
	writer := dynamo.New(dynamodbtest.Client(t), a.table, fixedClock(), dynamo.WithInitialStage(migration.Dual))
	stores := dynamotest.Stores(writer)
	if _, err := stores.Messages.Append(t.Context(), user, conversation.Append{
		SessionID: "c", Messages: []conversation.NewMessage{{Role: conversation.User, Content: "later"}},
	}); err != nil {
		t.Fatalf("append after call %d: %v", at, err)
	}
	want = append(want, "later")
	for _, to := range []conversation.Placement{"", conversation.Embedded, conversation.Shared} {
		if to != "" {
			if _, err := writer.Move(t.Context(), user, "c", to); err != nil {
				t.Fatalf("move on to %s after call %d: %v", to, at, err)
			}
		}
		page, _, err := stores.Messages.Messages(t.Context(), user, "c", conversation.Page{Limit: 200})
		var got []string
		for i, m := range page {
			if got = append(got, m.Content); m.Seq != i+1 {
				t.Errorf("call %d: message %d has seq %d", at, i, m.Seq)
			}
		}
		if err != nil || !slices.Equal(want, got) {
			t.Fatalf("call %d, then %q: %v, got %d messages: %q", at, to, err, len(got), got)
		}
	}
	if stored := a.stored(t, string(user), "conversation#c"); len(stored) != len(want) {
		t.Errorf("call %d: the store has %d messages, want %d", at, len(stored), len(want))
	}
	return n.calls
}
