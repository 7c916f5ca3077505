package dynamo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestAnExtendedClaimIsAClaim delivers the completion of a session whose claim was extended after failures. While its
// worker may still be at work the model is not asked again, and once it must be dead the user does not wait for the
// claim's end.
func TestAnExtendedClaimIsAClaim(t *testing.T) {
	t.Parallel()
	s := sweepCase{
		derived: &derived{asked: map[string]int{}, embedded: map[string]int{}, broken: "nothing"}, t: t,
		table: dynamotest.Table(t), clock: dynamotest.NewClock(),
	}
	client := dynamotest.Open(t, s.table, s.clock.Option())
	dynamotest.NewSession(t, client, "ann", "coach_conversation", "s0", "ann s0 said")
	status := conversation.Completed
	session, err := client.Sessions.UpdateSession(t.Context(), "ann", "s0", conversation.SessionChange{Status: &status})
	check.OK(t, err)
	s.findShards(client)
	due, err := client.Due.Due(t.Context(), s.shards[0], s.clock.Time().AddDate(1, 0, 0), nil, 1)
	check.OK(t, err)
	claim, ok, err := client.Due.Claim(t.Context(), due[0], s.clock.Time().Add(sweep.ClaimTime))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	_, err = client.Due.Extend(t.Context(), claim, s.clock.Time().Add(time.Hour))
	check.OK(t, err)
	for _, step := range []struct {
		after time.Duration
		asked int
	}{{0, 0}, {sweep.ClaimTime + time.Minute, 1}} {
		s.clock.Advance(step.after)
		s.deliver(-1, "ann", session)
		summaries := 0
		for input, n := range s.asked { // reading for memories needs no claim
			if strings.Contains(input, "NEW MESSAGES:\n[2026") {
				summaries += n
			}
		}
		if summaries != step.asked {
			t.Errorf("%v after the claim the model is asked for %d summaries, want %d", step.after, summaries, step.asked)
		}
	}
}
