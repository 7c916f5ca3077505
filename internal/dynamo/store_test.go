package dynamo_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/storetest"
)

const alice, bob = conversation.UserID("alice#1"), conversation.UserID("bob")

var noKey conversation.Idempotency

func second[T any](_ T, err error) error { return err }

func atNow() dynamo.Option {
	return dynamo.WithClock(func() time.Time { return storetest.Now })
}

// clock is a time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: storetest.Now} }

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) option() dynamo.Option { return dynamo.WithClock(c.time) }

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newSession(t testing.TB, s storetest.Stores, user conversation.UserID, context, id string, contents ...string) conversation.Session {
	t.Helper()
	if _, err := s.Sessions.CreateSession(t.Context(), user, conversation.NewSession{ID: id, Context: context, CoachID: "c1"}, noKey); err != nil {
		t.Fatal(err)
	}
	return say(t, s, user, id, contents...)
}

func say(t testing.TB, s storetest.Stores, user conversation.UserID, id string, contents ...string) conversation.Session {
	t.Helper()
	for _, c := range contents {
		in := conversation.Append{SessionID: id, Messages: []conversation.NewMessage{{Role: conversation.User, Content: c}}}
		if _, err := s.Messages.Append(t.Context(), user, in); err != nil {
			t.Fatal(err)
		}
	}
	session, err := s.Sessions.Session(t.Context(), user, id)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// TestStore is the conformance suite on a table that other records of the user's are in, too.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Subject {
		table := dynamotest.Table(t)
		return storetest.Subject{
			Stores: dynamotest.Open(t, table, dynamo.WithClock(now)),
			AppRecord: func(t *testing.T, user conversation.UserID) func() bool {
				own := []string{"workout#1", "summary#the app's own", "conversation", "ltm", "zzz#1"}
				for _, sk := range own {
					dynamotest.Put(t, table, user, sk, nil)
				}
				return func() bool { return holds(dynamotest.Keys(t, table, user), own) }
			},
		}
	})
}

func holds(keys, wanted []string) bool {
	for _, k := range wanted {
		if !slices.Contains(keys, k) {
			return false
		}
	}
	return true
}

// TestGoalsAtTheirCap holds that the oldest of too many goals is past and not lost.
func TestGoalsAtTheirCap(t *testing.T) {
	s := dynamotest.New(t, atNow())
	const most = 50
	for i := range most + 1 {
		g := longterm.Goal{Status: longterm.GoalActive, CreatedAt: storetest.Now.Add(time.Duration(i) * time.Minute)}
		if _, _, err := s.Goals.Create(t.Context(), alice, g, noKey); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := s.PromptSource.LongTerm(t.Context(), alice)
	if err != nil || len(snap.Goals) != most {
		t.Errorf("%d goals are live, %v", len(snap.Goals), err)
	}
	for _, g := range snap.Goals {
		if g.CreatedAt.Equal(storetest.Now) {
			t.Error("the oldest goal is live, and a later one made room")
		}
	}
	if all, _, err := s.Goals.List(t.Context(), alice, conversation.Page{Limit: 200}); err != nil || len(all) != most+1 {
		t.Errorf("%d goals are listed, %v", len(all), err)
	}
}
