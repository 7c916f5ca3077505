package dynamo_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/storetest"
)

func requestCounts(keys []string) (out []string) {
	for _, sk := range keys {
		if strings.HasPrefix(sk, "control#requests#") {
			out = append(out, sk)
		}
	}
	return out
}

// TestRequestsAreCountedOnce counts for two users, in two minutes, from two instances. Each count is one call.
func TestRequestsAreCountedOnce(t *testing.T) {
	t.Parallel()
	table, now := dynamotest.Table(t), storetest.Now.Truncate(time.Minute)
	var calls callCounter
	counters := make([]*dynamo.RequestCounter, 2)
	for i := range counters {
		api := &interceptor{api: dynamodbtest.Client(t), call: calls.call}
		counters[i] = dynamo.NewRequestCounter(dynamo.New(api, table))
	}
	calls.take()
	var got []int
	count := func(instance int, user string, minute time.Time, n int) {
		total, err := counters[instance].CountRequests(t.Context(), conversation.UserID(user), minute, n)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, total)
	}
	count(0, "alice", now, 30)
	count(1, "alice", now, 30)
	count(0, "bob", now, 1)
	count(0, "alice", now, 5)
	count(0, "alice", now.Add(time.Minute), 2)
	if diff := cmp.Diff([]int{30, 60, 1, 65, 2}, got); diff != "" {
		t.Errorf("counts (-want +got)\n%s", diff)
	}
	want := []string{"UpdateItem", "UpdateItem", "UpdateItem", "UpdateItem", "UpdateItem"}
	if diff := cmp.Diff(want, calls.take()); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
}

// TestRequestCountsGoWithTheUser erases a user. A count of before goes. One of an instance that does not know of the
// erasure is added to the new record.
func TestRequestCountsGoWithTheUser(t *testing.T) {
	t.Parallel()
	c := newQuotaCase(t, 0)
	api := dynamodbtest.Client(t)
	stale, fresh := dynamo.New(api, c.table), dynamo.New(api, c.table)
	minute := c.now.Truncate(time.Minute)
	count := func(db *dynamo.DB, want int) {
		t.Helper()
		total, err := dynamo.NewRequestCounter(db).CountRequests(t.Context(), alice, minute, 3)
		if err != nil || total != want {
			t.Errorf("count %d, %v, want %d", total, err, want)
		}
	}
	count(stale, 3)
	erasures := dynamo.NewErasureStore(fresh)
	erasure, held, err := erasures.BeginErasure(t.Context(), alice, time.Now().Add(time.Minute))
	if err != nil || !held {
		t.Fatal(held, err)
	}
	for done := false; !done; {
		done, err = erasures.EraseRecords(t.Context(), alice, erasure.Generation, time.Now().Add(time.Minute),
			func(string, int) {})
		if err != nil {
			t.Fatal(err)
		}
	}
	if left := requestCounts(dynamotest.Keys(t, c.table, alice)); len(left) > 0 {
		t.Errorf("the erasure left %q", left)
	}
	count(fresh, 3)
	count(stale, 6)
	count(stale, 9)
	sk := requestCounts(dynamotest.Keys(t, c.table, alice))[0]
	want := &types.AttributeValueMemberN{Value: strconv.FormatInt(erasure.Generation, 10)}
	if diff := cmp.Diff(want, record(t, c.table, sk)["generation"], cmpopts.IgnoreUnexported(*want)); diff != "" {
		t.Errorf("the generation of the count (-want +got)\n%s", diff)
	}
	if got := expiry(t, c.table, sk); got != minute.Add(10*time.Minute).Unix() {
		t.Errorf("the count of %d expires at %d", minute.Unix(), got)
	}
}
