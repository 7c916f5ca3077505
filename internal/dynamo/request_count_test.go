package dynamo_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestRequestsAreCountedOnce counts for two users, in two minutes, from two instances. Each count is one call.
func TestRequestsAreCountedOnce(t *testing.T) {
	t.Parallel()
	table, now := dynamotest.Table(t), start.Truncate(time.Minute)
	var calls dynamotest.CallCounter
	counters := make([]*dynamo.RequestCounter, 2)
	for i := range counters {
		api := dynamotest.Intercept(dynamodbtest.Client(t), dynamotest.Interceptor{Call: calls.Call})
		counters[i] = dynamo.NewRequestCounter(dynamo.New(api, table))
	}
	calls.Take()
	var got []int
	count := func(instance int, user string, minute time.Time, n int) {
		total := check.Got(counters[instance].CountRequests(t.Context(), conversation.UserID(user), minute, n))(t)
		got = append(got, total)
	}
	count(0, "alice", now, 30)
	count(1, "alice", now, 30)
	count(0, "bob", now, 1)
	count(0, "alice", now, 5)
	count(0, "alice", now.Add(time.Minute), 2)
	check.Same(t, []int{30, 60, 1, 65, 2}, got, "counts")
	want := []string{"UpdateItem", "UpdateItem", "UpdateItem", "UpdateItem", "UpdateItem"}
	check.Same(t, want, calls.Take(), "calls")
}
