package dynamo_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestClaimWithoutAnswer loses the answer of a claim that was carried out, and of one that came after another worker's
// claim for the same time.
func TestClaimWithoutAnswer(t *testing.T) {
	t.Parallel()
	for name, mine := range map[string]bool{"carried out": true, "after another worker's": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := dynamotest.Table(t)
			other := dynamotest.Open(t, table, dynamotest.FixedClock())
			dynamotest.NewSession(t, other, alice, "coach_conversation", "a", "x")
			session := check.Got(other.Sessions.Session(t.Context(), alice, "a"))(t)
			until := session.DueAt.Add(time.Minute)
			claimed := func(s sweep.Store) bool {
				for _, shard := range sweep.AllShards() {
					due := check.Got(s.Due(t.Context(), shard, session.DueAt, nil, 1))(t)
					for _, d := range due {
						_, ok, err := s.Claim(t.Context(), d, until)
						check.OK(t, err)
						return ok
					}
				}
				t.Fatal("nothing is due")
				return false
			}
			lost := 0
			s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: func(op string, run func() error) error {
				if op != "UpdateItem" || lost > 0 {
					return run()
				}
				lost++
				if mine {
					if err := run(); err != nil {
						t.Error(err)
					}
				} else if !claimed(other.Due) {
					t.Error("the other worker has no claim")
				}
				return dynamotest.ErrNoAnswer
			}}, dynamotest.FixedClock())
			if got := claimed(s.Due); got != mine || lost != 1 {
				t.Errorf("claimed: %t, want %t; %d answers lost", got, mine, lost)
			}
		})
	}
}
