package dynamo_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// maxAnswer is the most that an answer of the property takes.
const maxAnswer = 16_000

// TestLimitsHoldInAnyOrder draws what a user does from two instances: turns that begin alone or at once, with keys that
// are repeated, that end, are released or crash, sessions that are deleted, erasures, and time that passes. There are
// never more answers under way than may be at once, and no day's tokens pass the quota by more than one answer.
func TestLimitsHoldInAnyOrder(t *testing.T) {
	t.Parallel()
	table, users := dynamotest.Table(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		users++
		l := &limited{
			t: t, rt: rt, user: conversation.UserID(fmt.Sprint("user", users)),
			permits: rapid.SampledFrom([]int{1, 2, 4}).Draw(rt, "answers at once"),
			quota:   rapid.SampledFrom([]int{20_000, 60_000, 100_000}).Draw(rt, "quota"),
			now: start.Truncate(24 * time.Hour).Add(
				rapid.SampledFrom([]time.Duration{10 * time.Hour, 24*time.Hour - 5*time.Minute}).Draw(rt, "time of day")),
			spent: map[string]int{},
		}
		for i := range l.instances {
			db := dynamo.New(dynamodbtest.Client(t), table, dynamo.WithClock(func() time.Time { return l.now }),
				dynamo.WithAnswerLimit(l.permits, longestTurn), dynamo.WithDailyTokens(l.quota))
			l.instances[i] = dynamotest.StoresOf(db)
			l.quotas = dynamo.NewQuotaStore(db)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"begin": func(rt *rapid.T) { l.begin(rt, 1) }, "begin at once": func(rt *rapid.T) { l.begin(rt, 6) },
			"finish": l.finish, "finish all": l.finishAll, "release": l.release, "crash": l.crash, "wait": l.wait,
			"delete": l.delete, "erase": l.erase, "": l.check,
		})
		l.finishAll(rt)
		l.check(rt)
	})
}

// limited is a user with limits, and the turns that are under way.
type limited struct {
	t         *testing.T
	rt        *rapid.T
	user      conversation.UserID
	instances [2]dynamotest.Stores
	quotas    *dynamo.QuotaStore
	permits   int
	quota     int
	now       time.Time
	sessions  []string // those that are there
	live      []liveTurn
	spent     map[string]int
}

type liveTurn struct {
	conversation.Turn
	began time.Time
}

func (l *limited) store(rt *rapid.T) dynamotest.Stores {
	return l.instances[rapid.IntRange(0, 1).Draw(rt, "instance")]
}

// begin begins so many turns at once. Only the limits, a turn with the same key and a session that is gone may refuse.
func (l *limited) begin(rt *rapid.T, n int) {
	var work sync.WaitGroup
	begun, errs := make([]conversation.Turn, n), make([]error, n)
	for i := range n {
		store := l.store(rt)
		session := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "session")
		in := dynamotest.OneMessage(session, "q")
		if key := rapid.SampledFrom([]string{"", "k1", "k2", "k3"}).Draw(rt, "key"); key != "" {
			in.Idempotency = conversation.Idempotency{Scope: "chat", Key: key + session, BodyHash: "h"}
		}
		if !slices.Contains(l.sessions, session) {
			new := conversation.NewSession{ID: session, Context: "coach_conversation", CoachID: "c"}
			if _, err := store.Sessions.CreateSession(l.t.Context(), l.user, new, noKey); err != nil {
				rt.Fatalf("create a session: %v", err)
			}
			l.sessions = append(l.sessions, session)
		}
		work.Go(func() { begun[i], errs[i] = store.Turns.BeginTurn(l.t.Context(), l.user, in, turnLease) })
	}
	work.Wait()
	for i, turn := range begun {
		switch err := errs[i]; {
		case err == nil && turn.Answer == nil:
			l.live = append(l.live, liveTurn{turn, l.now})
		case err != nil && !fault.Is(err, fault.RateLimited) && !fault.Is(err, fault.Conflict) &&
			!fault.Is(err, fault.NotFound):
			rt.Fatalf("begin: %v", err)
		}
	}
}

// take takes a turn that is under way.
func (l *limited) take(rt *rapid.T) liveTurn {
	if len(l.live) == 0 {
		rt.Skip("no turn is under way")
	}
	i := rapid.IntRange(0, len(l.live)-1).Draw(rt, "turn")
	turn := l.live[i]
	l.live = slices.Delete(l.live, i, i+1)
	turn.Spent = rapid.SampledFrom([]int{1, maxAnswer / 2, maxAnswer}).Draw(rt, "tokens")
	l.spent[l.now.Format(time.DateOnly)] += turn.Spent
	return turn
}

func (l *limited) finishAll(rt *rapid.T) {
	for len(l.live) > 0 {
		l.finish(rt)
	}
}

func (l *limited) finish(rt *rapid.T) {
	store, turn := l.store(rt), l.take(rt)
	answer := conversation.NewMessage{Role: conversation.RoleAssistant, Content: "a"}
	_, err := store.Turns.FinishTurn(l.t.Context(), l.user, turn.Turn, answer)
	if fault.Is(err, fault.NotFound) { // as the chat does
		err = ignoreConflict(store.Turns.ReleaseTurn(l.t.Context(), l.user, turn.Turn))
	}
	if err != nil {
		rt.Fatalf("finish: %v", err)
	}
}

func (l *limited) release(rt *rapid.T) {
	store, turn := l.store(rt), l.take(rt)
	if err := ignoreConflict(store.Turns.ReleaseTurn(l.t.Context(), l.user, turn.Turn)); err != nil {
		rt.Fatalf("release: %v", err)
	}
}

// crash ends a turn of which nobody hears again. What it has taken is not counted.
func (l *limited) crash(rt *rapid.T) { l.spent[l.now.Format(time.DateOnly)] -= l.take(rt).Spent }

// wait lets time pass. The turns under way renew their leases, and end before their permits lapse.
func (l *limited) wait(rt *rapid.T) {
	l.now = l.now.Add(rapid.SampledFrom([]time.Duration{time.Second, turnLease - time.Second}).Draw(rt, "time"))
	l.live = slices.DeleteFunc(l.live, func(turn liveTurn) bool {
		if l.now.Sub(turn.began) > longestTurn-turnLease {
			return true // it has crashed
		}
		err := ignoreConflict(l.instances[0].Turns.RenewTurn(l.t.Context(), l.user, turn.Turn, turnLease))
		if err != nil {
			rt.Fatalf("renew: %v", err)
		}
		return false
	})
}

func (l *limited) delete(rt *rapid.T) {
	session := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "session")
	_, err := l.store(rt).Deletion.DeleteSession(l.t.Context(), l.user, session, l.now)
	if err != nil && !fault.Is(err, fault.NotFound) {
		rt.Fatalf("delete: %v", err)
	}
	l.sessions = slices.DeleteFunc(l.sessions, func(id string) bool { return id == session })
}

func (l *limited) erase(rt *rapid.T) {
	eraseUser(l.t, l.store(rt), l.user, l.now)
	l.sessions = nil
	l.now = l.now.Add(time.Second)
}

func (l *limited) check(rt *rapid.T) {
	if len(l.live) > l.permits {
		rt.Fatalf("%d answers are under way, the limit is %d", len(l.live), l.permits)
	}
	days := check.Got(l.quotas.Usage(l.t.Context(), l.user))(rt)
	for _, d := range days {
		if d.Tokens != int64(l.spent[d.Day]) || d.Tokens >= int64(l.quota+maxAnswer) {
			rt.Fatalf("%s: %d tokens are counted, %d were spent, the quota is %d", d.Day, d.Tokens, l.spent[d.Day], l.quota)
		}
	}
}

func ignoreConflict(err error) error {
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}
