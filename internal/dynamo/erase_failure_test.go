package dynamo_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestErasureWithFailures makes each operation of an erasure meet a conflict or lose its answer: of a user who was
// erased before and has no records, and of one whose erasure was cut off. The caller never gets an error for a
// conflict, and a repeat ends what is left after an answer that was lost.
func TestErasureWithFailures(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	done := &erasing{table: table, user: "the-erased-user", clock: dynamotest.NewClock()}
	done.mustErase(t)
	cut := &erasing{table: table, user: "the-user-of-before", clock: dynamotest.NewClock()}
	cut.fill(t)
	failures := map[remoteCall]dynamotest.Failure{{op: dynamotest.BatchWrite}: dynamotest.CrashBefore}
	if err := cut.erase(t, failures); !errors.Is(err, dynamotest.ErrCrash) {
		t.Fatalf("an erasure that is cut off: %v", err)
	}
	for name, first := range map[string]*erasing{"erased": done, "cut off": cut} {
		before := historyOf(t, table, first.user)
		for _, at := range erasureCalls() {
			for _, f := range []dynamotest.Failure{dynamotest.AnswerLost, dynamotest.Conflict} {
				isRead, isEmpty := at.op == dynamotest.QueryCall || at.op == dynamotest.IndexCall, first == done
				if isRead && f == dynamotest.Conflict || isEmpty && at.op == dynamotest.BatchWrite {
					continue // neither meets conflicts, and there is nothing to delete
				}
				t.Run(fmt.Sprintf("%s, %s, failure %d", name, at.op, f), func(t *testing.T) {
					t.Parallel()
					e := &erasing{table: table, user: conversation.UserID(t.Name()), clock: dynamotest.NewClock()}
					e.clock.Advance(first.clock.Time().Sub(e.clock.Time()))
					before.giveTo(t, table, e.user)
					err := e.erase(t, map[remoteCall]dynamotest.Failure{{op: at.op}: f})
					if err != nil && (f == dynamotest.Conflict || !dynamotest.IsUnanswered(err)) {
						t.Fatalf("the caller gets %v", err)
					}
					if e.calls[at.op] == 0 {
						t.Error("nothing failed")
					}
					if err != nil {
						e.mustErase(t)
					}
				})
			}
		}
	}
}

// erasing is a user who is erased by processes, each of which makes one call.
type erasing struct {
	table string
	user  conversation.UserID
	clock *dynamotest.Clock
	calls map[string]int // of the last erasure
}

// fill stores a session with a message, and a memory.
func (e *erasing) fill(t testing.TB) {
	s := dynamotest.Open(t, e.table, e.clock.Option())
	dynamotest.NewSession(t, s, e.user, "coach_conversation", "a", "x")
	if _, _, err := s.Memories.Create(t.Context(), e.user, longterm.Memory{Content: "x"}, noKey); err != nil {
		t.Fatal(err)
	}
}

// erase makes one call, two minutes after the one before, whose lease has expired. After an erasure that is done, the
// user has no records.
func (e *erasing) erase(t testing.TB, failures map[remoteCall]dynamotest.Failure) error {
	e.clock.Advance(2 * time.Minute)
	n := &network{failures: failures, calls: map[string]int{}, cancel: func() {}}
	s := dynamotest.OpenIntercepted(t, e.table, dynamotest.Interceptor{Call: n.call}, e.clock.Option())
	index := vectorIndex{n}
	out, err := erasure.NewSweeper(s.Erasure(index, e.clock.Time), index).Erase(t.Context(), e.user,
		e.clock.Time().Add(time.Minute))
	e.calls = n.calls
	if out.Done != (err == nil) {
		t.Errorf("the erasure is %+v, %v", out, err)
	}
	if left := dynamotest.Keys(t, e.table, e.user); err == nil && len(left) != 1 {
		t.Errorf("after the erasure there are %v", left)
	}
	return err
}

func (e *erasing) mustErase(t testing.TB) {
	check.OK(t, e.erase(t, nil))
}
