package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
)

// The fates of a remote call.
const (
	carriedOut = iota
	notCarriedOut
	answerLost
	crashBefore
	crashAfter
	fates
)

var errCrash = errors.New("the process is gone")

// gate holds the remote calls of one client until the test says what becomes of the next.
type gate struct {
	asked chan struct{}
	fate  chan int
	ran   chan struct{}
	done  chan struct{}
	die   context.CancelFunc // of the process that runs now
}

func (g *gate) call(_ string, run func() error) error {
	g.asked <- struct{}{}
	fate := <-g.fate
	defer func() { g.ran <- struct{}{} }()
	switch fate {
	case notCarriedOut:
		return errNoAnswer
	case answerLost:
		if err := run(); err != nil {
			return err
		}
		return errNoAnswer
	case crashBefore:
		g.die()
		return errCrash
	case crashAfter:
		g.die()
		return errors.Join(errCrash, run())
	}
	return run()
}

// client sends appends one after another, each until it is acknowledged or given up.
type client struct {
	gate
	name  int
	sends []send
	acked [][]conversation.Message // by send; nil where it was given up
}

// send is one append: how many messages, and whether it has an idempotency key, without which it is sent once.
type send struct {
	messages int
	keyed    bool
}

func (c *client) run(t *testing.T, table string, user conversation.UserID, forgetful bool) {
	defer close(c.done)
	for n, send := range c.sends {
		c.acked = append(c.acked, nil)
		in := conversation.Append{SessionID: "s"}
		for i := range send.messages {
			in.Messages = append(in.Messages, conversation.NewMessage{Role: conversation.User, Content: fmt.Sprintf("%d/%d/%d", c.name, n, i)})
		}
		if send.keyed {
			in.Idempotency = conversation.Idempotency{Scope: "s", Key: fmt.Sprintf("%d/%d", c.name, n), BodyHash: "h"}
		}
		for try := 0; try == 0 || send.keyed && try < 6; try++ {
			// Each try is a process of its own, which knows nothing of the one before.
			ctx, die := context.WithCancel(t.Context())
			c.die = die
			out, err := withSeam(t, table, seam{call: c.call, forgetful: forgetful}, atNow()).Messages.Append(ctx, user, in)
			die()
			if err == nil {
				c.acked[n] = out.Messages
				break
			}
		}
	}
}

// TestInterleavings draws clients, what they send, whose remote call comes next and what becomes of it. Whatever
// happens, each acknowledged message is there exactly once and in order, none twice, and none in part of its call.
func TestInterleavings(t *testing.T) {
	table, users := dynamotest.Table(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		users++
		user := conversation.UserID(fmt.Sprint("user", users))
		plain := dynamotest.Open(t, table, atNow())
		newSession(t, plain, user, "coach_conversation", "s")
		forgetful := rapid.Bool().Draw(rt, "forgetful")
		clients := make([]*client, rapid.IntRange(1, 3).Draw(rt, "clients"))
		for i := range clients {
			clients[i] = &client{
				gate: gate{asked: make(chan struct{}), fate: make(chan int), ran: make(chan struct{}), done: make(chan struct{})}, name: i,
				sends: rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) send {
					return send{rapid.IntRange(1, 3).Draw(rt, "messages"), rapid.Bool().Draw(rt, "keyed")}
				}), 1, 3).Draw(rt, "sends"),
			}
			go clients[i].run(t, table, user, forgetful)
		}
		schedule(rt, clients)
		messages, _, err := plain.Messages.Messages(t.Context(), user, "s", conversation.Page{Limit: 200})
		if err != nil {
			rt.Fatal(err)
		}
		checkStored(rt, clients, messages)
	})
}

// schedule lets one remote call at a time happen, until every client is done.
func schedule(rt *rapid.T, clients []*client) {
	troubles := 0
	for {
		var waiting []*client
		for _, c := range clients {
			select {
			case <-c.asked:
				waiting = append(waiting, c)
			case <-c.done:
			}
		}
		if len(waiting) == 0 {
			return
		}
		order := rapid.Permutation(waiting).Draw(rt, "order")
		for _, c := range order {
			fate := carriedOut
			if troubles < 12 { // then let them finish
				fate = rapid.IntRange(0, fates-1).Draw(rt, "fate")
			}
			if fate != carriedOut {
				troubles++
			}
			c.fate <- fate
			<-c.ran
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
		for n, send := range c.sends {
			first := at[fmt.Sprintf("%d/%d/0", c.name, n)]
			for i := range send.messages {
				content := fmt.Sprintf("%d/%d/%d", c.name, n, i)
				if seq := at[content]; first > 0 && seq != first+i || first == 0 && seq != 0 {
					rt.Fatalf("%q has seq %d in a call that begins with %d", content, seq, first)
				}
				if acked := c.acked[n]; acked != nil && acked[i].Seq != at[content] {
					rt.Fatalf("%q was acknowledged as %d and is stored as %d", content, acked[i].Seq, at[content])
				}
			}
			if first > 0 && first < last {
				rt.Fatalf("client %d: call %d is stored before an earlier one", c.name, n)
			}
			last = max(last, first)
		}
	}
}
