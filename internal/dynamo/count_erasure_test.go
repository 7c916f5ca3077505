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

// manyTokens is a quota that lets turns be answered at once until lastTokens are left.
const manyTokens, lastTokens = 100_000, 20_000

// bounded is a table whose users have bounds, with two instances. The second does not know of erasures.
type bounded struct {
	*permitCase
	quota  *dynamo.QuotaStore
	counts [2]*dynamo.RequestCounter
}

func newBounded(t *testing.T) *bounded {
	t.Helper()
	b := &bounded{permitCase: &permitCase{table: dynamotest.Table(t), now: start}}
	open := func() *dynamo.DB {
		return dynamo.New(dynamodbtest.Client(t), b.table, dynamo.WithClock(func() time.Time { return b.now }),
			dynamo.WithAnswerLimit(2, longestTurn), dynamo.WithDailyTokens(manyTokens))
	}
	b.db = open()
	b.Stores, b.quota = dynamotest.StoresOf(b.db), dynamo.NewQuotaStore(b.db)
	b.counts = [2]*dynamo.RequestCounter{dynamo.NewRequestCounter(b.db), dynamo.NewRequestCounter(open())}
	return b
}

func (b *bounded) erase(t *testing.T) {
	t.Helper()
	if counts := eraseUser(t, b.Stores, alice, b.now); counts["control"] > 0 {
		t.Errorf("the receipt counts %v", counts)
	}
}

// eraseUser erases a user's records and returns how many there were by kind.
func eraseUser(t *testing.T, s dynamotest.Stores, user conversation.UserID, now time.Time) map[string]int {
	t.Helper()
	p, held, err := s.Erasures.BeginErasure(t.Context(), user, now.Add(time.Minute))
	if err != nil || !held {
		t.Fatal(held, err)
	}
	for !p.Done {
		p.Done, err = s.Erasures.EraseRecords(t.Context(), user, p.Generation, now.Add(time.Minute),
			func(kind string, n int) { p.Counts[kind] += n })
		check.OK(t, err)
	}
	check.OK(t, s.Erasures.SaveErasure(t.Context(), user, p, now))
	return p.Counts
}

func (b *bounded) count(t *testing.T, instance, want int) {
	t.Helper()
	total, err := b.counts[instance].CountRequests(t.Context(), alice, b.now.Truncate(time.Minute), 3)
	if err != nil || total != want {
		t.Errorf("count %d, %v, want %d", total, err, want)
	}
}

// TestBoundsOutliveAnErasure erases a user again and again between turns. The permits of turns that are under way stay
// taken, requests of the minute stay counted, and the tokens of the day stay spent, until each expires by itself.
func TestBoundsOutliveAnErasure(t *testing.T) {
	t.Parallel()
	b := newBounded(t)
	first := b.mustBegin(t, "a", "ka")
	b.count(t, 0, 3)
	b.count(t, 1, 6)
	for i := range 3 {
		b.erase(t)
		b.count(t, i%2, 9+3*i)
		if i == 0 {
			b.mustBegin(t, "b", "")
		}
		b.mustBeBusy(t, "b", fmt.Sprint("k", i))
	}
	first.Spent = manyTokens - lastTokens
	answer := conversation.NewMessage{Role: conversation.RoleAssistant, Content: "a"}
	checkFault(t, errorOf(b.Turns.FinishTurn(t.Context(), alice, first, answer)), fault.NotFound,
		"the answer to an erased question")
	checkFault(t, b.Turns.ReleaseTurn(t.Context(), alice, first), fault.Conflict,
		"the release of a turn whose record is gone")
	b.mustBegin(t, "b", "kc") // the permit of the first turn is free
	b.erase(t)
	want := []conversation.DayUsage{{Day: b.now.Format(time.DateOnly), Tokens: manyTokens - lastTokens}}
	if days, err := b.quota.Usage(t.Context(), alice); !cmp.Equal(want, days) || err != nil {
		t.Errorf("usage %v, %v, want %v", days, err, want)
	}
	if err := b.quota.Spend(t.Context(), alice, 0, lastTokens); err != nil { // a worker of the first generation
		t.Fatal(err)
	}
	if today, err := b.quota.Today(t.Context(), alice); today.Used != manyTokens || err != nil {
		t.Errorf("today %+v, %v", today, err)
	}
	b.now = b.now.Add(longestTurn + time.Millisecond)
	if _, err := b.begin(t, alice, "b", ""); !fault.Is(err, fault.RateLimited) ||
		fault.From(err).RetryAfter < time.Minute {
		t.Errorf("a turn without tokens: %v", err)
	}
	expiring := 0
	for _, sk := range dynamotest.Keys(t, b.table, alice) {
		if sk == "control#slots" || strings.HasPrefix(sk, "control#usage#") || strings.HasPrefix(sk, "control#requests#") {
			expiry(t, b.table, sk)
			expiring++
		}
	}
	if expiring != 3 {
		t.Errorf("%d records of counts, want 3", expiring)
	}
}

// TestCheckTurn looks for the session of a turn before and after it is deleted, created again, or erased.
func TestCheckTurn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *bounded){
		"deleted": func(t *testing.T, b *bounded) {
			check.Got(b.Deletion.DeleteSession(t.Context(), alice, "a", b.now))(t)
		},
		"created again": func(t *testing.T, b *bounded) {
			check.Got(b.Deletion.DeleteSession(t.Context(), alice, "a", b.now))(t)
			b.now = b.now.Add(time.Second)
			b.mustBegin(t, "a", "another")
		},
		"erased": func(t *testing.T, b *bounded) { b.erase(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBounded(t)
			turn := b.mustBegin(t, "a", "")
			watch := dynamo.NewTurnStore(b.db)
			if _, err := watch.CheckTurn(t.Context(), alice, turn); err != nil {
				t.Errorf("before: %v", err)
			}
			end(t, b)
			checkFault(t, errorOf(watch.CheckTurn(t.Context(), alice, turn)), fault.NotFound, "after")
		})
	}
}
