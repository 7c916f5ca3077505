package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

const dailyTokens = 1_000

// quotaCase is a table whose users have a daily quota, with a session of alice.
type quotaCase struct {
	dynamotest.Stores
	table string
	quota *dynamo.QuotaStore
	calls dynamotest.CallCounter
	now   time.Time
}

func newQuotaCase(t *testing.T, tokens int) *quotaCase {
	t.Helper()
	c := &quotaCase{table: dynamotest.Table(t), now: start}
	api := dynamotest.Intercept(dynamodbtest.Client(t), dynamotest.Interceptor{Call: c.calls.Call})
	db := dynamo.New(api, c.table, dynamo.WithClock(func() time.Time { return c.now }), dynamo.WithDailyTokens(tokens))
	c.Stores, c.quota = dynamotest.StoresOf(db), dynamo.NewQuotaStore(db)
	c.open(t, alice)
	return c
}

func (c *quotaCase) open(t *testing.T, user conversation.UserID) {
	t.Helper()
	in := conversation.NewSession{ID: "a", Context: "coach_conversation", CoachID: "c"}
	check.Got(c.Sessions.CreateSession(t.Context(), user, in, noKey))(t)
}

func (c *quotaCase) begin(t *testing.T, user conversation.UserID, key string) (conversation.Turn, error) {
	in := dynamotest.OneMessage("a", "q")
	in.Idempotency = conversation.Idempotency{Scope: "chat", Key: key, BodyHash: "h"}
	return c.Turns.BeginTurn(t.Context(), user, in, time.Minute)
}

// turn is a whole turn that takes a number of tokens.
func (c *quotaCase) turn(t *testing.T, user conversation.UserID, key string, tokens int) error {
	turn, err := c.begin(t, user, key)
	if err != nil {
		return err
	}
	turn.Spent = tokens
	answer := conversation.NewMessage{Role: conversation.RoleAssistant, Content: "a"}
	return errorOf(c.Turns.FinishTurn(t.Context(), user, turn, answer))
}

// checkSpent fails unless err refuses a turn until the end of the day.
func (c *quotaCase) checkSpent(t *testing.T, err error) {
	t.Helper()
	end := c.now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	if !fault.Is(err, fault.RateLimited) || fault.From(err).RetryAfter != end.Sub(c.now) {
		t.Errorf("error %v, want rate limited until %v", err, end)
	}
}

func TestSpentQuotaRefusesTurns(t *testing.T) {
	t.Parallel()
	c := newQuotaCase(t, dailyTokens)
	for i, tokens := range []int{600, 399, 500} { // one token is left before the last
		if err := c.turn(t, alice, fmt.Sprint(i), tokens); err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
	}
	before := dynamotest.Keys(t, c.table, alice)
	_, err := c.begin(t, alice, "over")
	c.checkSpent(t, err)
	_, err = c.begin(t, alice, "")
	c.checkSpent(t, err)
	if diff := cmp.Diff(before, dynamotest.Keys(t, c.table, alice)); diff != "" {
		t.Errorf("the refused turns stored something (-before +after)\n%s", diff)
	}
	replayed, err := c.begin(t, alice, "1")
	if err != nil || replayed.Answer == nil || replayed.Answer.Content != "a" {
		t.Errorf("a repeat of a finished turn: %+v, %v", replayed, err)
	}
	if _, err := c.Messages.Append(t.Context(), alice, dynamotest.OneMessage("a", "still there")); err != nil {
		t.Errorf("append: %v", err)
	}
	c.open(t, "bob")
	if err := c.turn(t, "bob", "k", 1); err != nil {
		t.Errorf("another user: %v", err)
	}
	c.now = c.now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	if err := c.turn(t, alice, "over", 1); err != nil {
		t.Errorf("the next day: %v", err)
	}
}

func TestQuotaTakesNoCallFromATurn(t *testing.T) {
	t.Parallel()
	for _, tokens := range []int{0, dailyTokens} {
		c := newQuotaCase(t, tokens)
		c.calls.Take()
		check.OK(t, c.turn(t, alice, "k", 10))
		want := []string{"TransactWriteItems", "TransactWriteItems"}
		check.Same(t, want, c.calls.Take(), "a turn with a quota of %d", tokens)
		counted := strings.Contains(fmt.Sprint(dynamotest.Keys(t, c.table, alice)), "control#usage#2")
		if counted != (tokens > 0) {
			t.Errorf("counted %v with a quota of %d", counted, tokens)
		}
		if tokens > 0 {
			continue
		}
		if reset, err := c.quota.Reset(t.Context(), alice); !reset.IsZero() || err != nil || len(c.calls.Take()) != 0 {
			t.Errorf("without a quota: reset %v, %v", reset, err)
		}
		if err := c.quota.Spend(t.Context(), alice, 0, 1e9); err != nil || len(c.calls.Take()) != 0 {
			t.Errorf("without a quota: %v", err)
		}
	}
}

func TestBackgroundTokensCount(t *testing.T) {
	t.Parallel()
	c := newQuotaCase(t, dailyTokens)
	reset := func() time.Time {
		t.Helper()
		return check.Got(c.quota.Reset(t.Context(), alice))(t)
	}
	check.OK(t, c.turn(t, alice, "k", 400))
	if err := c.quota.Spend(t.Context(), alice, 0, 599); err != nil || !reset().IsZero() {
		t.Errorf("with a token left: reset %v, %v", reset(), err)
	}
	check.OK(t, c.quota.Spend(t.Context(), alice, 0, 1))
	if want := c.now.Truncate(24 * time.Hour).Add(24 * time.Hour); !reset().Equal(want) {
		t.Errorf("reset %v, want %v", reset(), want)
	}
	_, err := c.begin(t, alice, "over")
	c.checkSpent(t, err)
	today, err := c.quota.Today(t.Context(), alice)
	spent := conversation.Quota{Used: dailyTokens, Limit: dailyTokens, ResetsAt: reset()}
	if today != spent || err != nil {
		t.Errorf("today %+v, %v, want %+v", today, err, spent)
	}
	days, err := c.quota.Usage(t.Context(), alice)
	want := []conversation.DayUsage{{Day: c.now.Format(time.DateOnly), Tokens: dailyTokens}}
	if diff := cmp.Diff(want, days); diff != "" || err != nil {
		t.Errorf("usage, %v (-want +got)\n%s", err, diff)
	}
}

// TestLastTurnsOfADayAreAnsweredOneAtATime begins turns at once. While the answers under way could pass the quota, a
// turn begins only alone, also one that takes another's over.
func TestLastTurnsOfADayAreAnsweredOneAtATime(t *testing.T) {
	t.Parallel()
	b := newBounded(t)
	check.OK(t, b.quota.Spend(t.Context(), alice, 0, manyTokens-lastTokens))
	first := b.mustBegin(t, "a", "ka")
	second := b.mustBegin(t, "b", "kb")
	b.mustBeBusy(t, "c", "kc")
	second.Spent = lastTokens / 4
	b.finish(t, second)
	b.mustBeBusy(t, "b", "kd") // 15,000 are left, which the first turn may take
	check.OK(t, b.Turns.ReleaseTurn(t.Context(), alice, first))
	alone := b.mustBegin(t, "b", "kd")
	b.mustBeBusy(t, "a", "ka") // a repeat of the first turn
	b.mustBeBusy(t, "c", "")
	b.now = b.now.Add(turnLease + time.Millisecond)
	again := b.mustBegin(t, "b", "kd") // after a crash, in its own permit
	if again.Message.ID != alone.Message.ID {
		t.Errorf("a repeat goes on with %s, want %s", again.Message.ID, alone.Message.ID)
	}
	again.Spent = lastTokens
	b.finish(t, again)
	for _, key := range []string{"ka", "ke", ""} {
		_, err := b.begin(t, alice, "a", key)
		if !fault.Is(err, fault.RateLimited) || fault.From(err).RetryAfter < time.Minute {
			t.Errorf("a turn without tokens: %v", err)
		}
	}
}
