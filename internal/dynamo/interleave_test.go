package dynamo_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestInterleavings draws clients, what they append, the order of their remote calls, and the failures of these. In the
// end each acknowledged message is stored exactly once and in order, no message is stored twice, and no call is stored
// in part.
func TestInterleavings(t *testing.T) {
	t.Parallel()
	table, users := dynamotest.Table(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		users++
		user := conversation.UserID(fmt.Sprint("user", users))
		reader := dynamotest.Open(t, table, dynamotest.FixedClock())
		dynamotest.NewSession(t, reader, user, "coach_conversation", "s")
		newTokens := rapid.Bool().Draw(rt, "new tokens")
		clients := make([]*client, rapid.IntRange(1, 3).Draw(rt, "clients"))
		var calls []*remoteCalls
		for i := range clients {
			clients[i] = &client{
				remoteCalls: newRemoteCalls(), name: i,
				appends: rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) plannedAppend {
					return plannedAppend{rapid.IntRange(1, 3).Draw(rt, "messages"), rapid.Bool().Draw(rt, "has a key")}
				}), 1, 3).Draw(rt, "appends"),
			}
			calls = append(calls, &clients[i].remoteCalls)
			go clients[i].run(t, table, user, newTokens)
		}
		schedule(rt, calls)
		messages, _, err := reader.Messages.Messages(t.Context(), user, "s", conversation.Page{Limit: 200})
		check.OK(rt, err)
		checkStored(rt, clients, messages)
	})
}

// remoteCalls holds back the remote calls of one client. The test lets one happen at a time and says how it fails.
type remoteCalls struct {
	begun    chan struct{}
	failure  chan dynamotest.Failure
	ended    chan struct{}
	allEnded chan struct{}
	crash    context.CancelFunc // ends the process that runs now
}

func newRemoteCalls() remoteCalls {
	return remoteCalls{
		begun: make(chan struct{}), failure: make(chan dynamotest.Failure), ended: make(chan struct{}),
		allEnded: make(chan struct{}),
	}
}

func (r *remoteCalls) call(op string, run func() error) error {
	r.begun <- struct{}{}
	f := <-r.failure
	defer func() { r.ended <- struct{}{} }()
	err := f.Apply(op, run)
	if f == dynamotest.CrashBefore || f == dynamotest.CrashAfter {
		r.crash() // after the call, which would not be carried out without its context
	}
	return err
}

// client appends one call after another. It repeats a call until it is acknowledged, or gives up.
type client struct {
	remoteCalls
	name         int
	appends      []plannedAppend
	acknowledged [][]conversation.Message // for each append; nil where the client gave up
}

// plannedAppend is an append of some messages. Without an idempotency key it is tried only once.
type plannedAppend struct {
	messages int
	hasKey   bool
}

const maxAttempts = 6

func (c *client) run(t *testing.T, table string, user conversation.UserID, newTokens bool) {
	defer close(c.allEnded)
	for n, planned := range c.appends {
		in := conversation.Append{SessionID: "s"}
		for i := range planned.messages {
			in.Messages = append(in.Messages, conversation.NewMessage{
				Role: conversation.RoleUser, Content: fmt.Sprintf("%d/%d/%d", c.name, n, i),
			})
		}
		attempts := 1
		if planned.hasKey {
			in.Idempotency = conversation.Idempotency{Scope: "s", Key: fmt.Sprintf("%d/%d", c.name, n), BodyHash: "h"}
			attempts = maxAttempts
		}
		c.acknowledged = append(c.acknowledged, nil)
		for ; attempts > 0 && c.acknowledged[n] == nil; attempts-- {
			// Each attempt is made by a new process, which knows nothing of the one before.
			ctx, cancel := context.WithCancel(t.Context())
			c.crash = cancel
			s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: c.call, NewTokens: newTokens},
				dynamotest.FixedClock())
			if out, err := s.Messages.Append(ctx, user, in); err == nil {
				c.acknowledged[n] = out.Messages
			}
			cancel()
		}
	}
}

// maxFailures is how many remote calls fail. The ones after them are carried out, so that the clients come to an end.
const maxFailures = 12

// schedule lets one remote call at a time happen, until every client is done.
func schedule(rt *rapid.T, clients []*remoteCalls) {
	failures := 0
	for {
		var waiting []*remoteCalls
		for _, c := range clients {
			select {
			case <-c.begun:
				waiting = append(waiting, c)
			case <-c.allEnded:
			}
		}
		if len(waiting) == 0 {
			return
		}
		for _, c := range rapid.Permutation(waiting).Draw(rt, "order") {
			f := dynamotest.NoFailure
			if failures < maxFailures {
				f = dynamotest.DrawFailure(rt, dynamotest.NoFailure)
			}
			if f != dynamotest.NoFailure {
				failures++
			}
			c.failure <- f
			<-c.ended
		}
	}
}

func checkStored(rt *rapid.T, clients []*client, messages []conversation.Message) {
	at := map[string]int{}
	for i, m := range messages {
		if m.Seq != i+1 || i > 0 && !m.Timestamp.After(messages[i-1].Timestamp) {
			rt.Fatalf("message %d has seq %d at %v", i+1, m.Seq, m.Timestamp)
		}
		if first, twice := at[m.Content]; twice {
			rt.Fatalf("%q is stored as %d and as %d", m.Content, first, m.Seq)
		}
		at[m.Content] = m.Seq
	}
	for _, c := range clients {
		last := 0
		for n, planned := range c.appends {
			first := at[fmt.Sprintf("%d/%d/0", c.name, n)]
			for i := range planned.messages {
				content := fmt.Sprintf("%d/%d/%d", c.name, n, i)
				if seq := at[content]; first > 0 && seq != first+i || first == 0 && seq != 0 {
					rt.Fatalf("%q has seq %d in a call that begins with %d", content, seq, first)
				}
				if got := c.acknowledged[n]; got != nil && got[i].Seq != at[content] {
					rt.Fatalf("%q was acknowledged as %d and is stored as %d", content, got[i].Seq, at[content])
				}
			}
			if first > 0 && first < last {
				rt.Fatalf("client %d: call %d is stored before an earlier one", c.name, n)
			}
			last = max(last, first)
		}
	}
}
