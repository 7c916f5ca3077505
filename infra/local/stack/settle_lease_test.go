package stack_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/conversation"
	store "github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// settleWaitsForLeases has a session that was left, and that waits for the lease of another one. A session that its
// user is in does not wait.
func settleWaitsForLeases(t *testing.T, f *fixture) {
	var info stack.Info
	f.get(t, "/dev/info", &info)
	client := dynamo(info.DynamoDBEndpoint)
	db := store.New(client, info.TableName)
	sessions, messages := store.NewSessionStore(db), store.NewMessageStore(db)
	for i, id := range []string{"here", "left"} {
		in := conversation.NewSession{ID: id, Context: "coach_conversation", CoachID: "c"}
		check.Got(sessions.CreateSession(t.Context(), "ben", in, conversation.Idempotency{}))(t)
		check.Got(messages.Append(t.Context(), "ben", dynamotest.OneMessage(id, "hello")))(t)
		if i > 0 {
			check.OK(t, sessions.LeaveSession(t.Context(), "ben", id, time.Now()))
		}
		session := check.Got(sessions.Session(t.Context(), "ben", id))(t)
		due := store.NewDueStore(db)
		claim, ok, err := due.ClaimSession(t.Context(), "ben", session, time.Now().Add(time.Hour))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		check.OK(t, due.Postpone(t.Context(), claim, time.Now().Add(50*time.Second), true))
		want, wait := i == 0, []int{20_000, 3_000}[i]
		if got := f.settle(t, wait); got.Settled != want || (got.Pending == 0) != want {
			t.Errorf("%s: settled %+v, want %t", id, got, want)
		}
		check.Got(store.NewDeletionStore(db).DeleteSession(t.Context(), "ben", id, time.Now().Add(time.Hour)))(t)
	}
	if got := f.settle(t, 10_000); !got.Settled {
		t.Errorf("settled %+v afterwards", got)
	}
}
