package stack_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/conversation"
	store "github.com/throughline/throughline/internal/dynamo"
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
		if _, err := sessions.CreateSession(t.Context(), "ben", in, conversation.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		if _, err := messages.Append(t.Context(), "ben", dynamotest.OneMessage(id, "hello")); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			if err := sessions.LeaveSession(t.Context(), "ben", id, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		session, err := sessions.Session(t.Context(), "ben", id)
		if err != nil {
			t.Fatal(err)
		}
		due := store.NewDueStore(db)
		claim, ok, err := due.ClaimSession(t.Context(), "ben", session, time.Now().Add(time.Hour))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := due.Postpone(t.Context(), claim, time.Now().Add(50*time.Second), true); err != nil {
			t.Fatal(err)
		}
		want, wait := i == 0, []int{20_000, 3_000}[i]
		if got := f.settle(t, wait); got.Settled != want || (got.Pending == 0) != want {
			t.Errorf("%s: settled %+v, want %t", id, got, want)
		}
		if _, err := store.NewDeletionStore(db).DeleteSession(t.Context(), "ben", id, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.settle(t, 10_000); !got.Settled {
		t.Errorf("settled %+v afterwards", got)
	}
}
