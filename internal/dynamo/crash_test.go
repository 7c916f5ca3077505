package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestCrashes draws what a client does, and the remote calls that fail or at which the process crashes. The client
// repeats each call with its idempotency key, or gives up. In the end everything that was acknowledged is stored once.
// What the client gave up is stored completely or not at all, and what was deleted does not come back.
func TestCrashes(t *testing.T) {
	t.Parallel()
	table, users := dynamotest.Table(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		users++
		clk := dynamotest.NewClock()
		sim := &simulation{
			t: t, rt: rt, table: table, user: conversation.UserID(fmt.Sprint("user", users)), clock: clk,
			reader: dynamotest.Open(t, table, clk.Option()), want: newState(), ids: map[string]string{},
			newTokens: rapid.Bool().Draw(rt, "new tokens"),
		}
		sim.setUp()
		for range rapid.IntRange(1, 12).Draw(rt, "actions") {
			sim.actions++
			clk.Advance(time.Minute)
			sim.act()
		}
		sim.check("in the end")
		if rapid.Bool().Draw(rt, "the user is erased in the end") {
			sim.erase(sim.drawRetries())
		}
		if sim.erasing {
			sim.endErasure()
		}
	})
}

// simulation is one user's store, what a client does to it, and what the client expects to read.
type simulation struct {
	t     *testing.T
	rt    *rapid.T
	table string
	user  conversation.UserID
	clock *dynamotest.Clock
	// reader is a store whose calls never fail.
	reader dynamotest.Stores
	// running is nil before the first call and after a crash.
	running *process
	want    state
	mu      sync.Mutex
	// ids holds the ids of messages and records by their contents. Several goroutines save ids in it.
	ids map[string]string
	// newTokens makes the engine take each attempt of a transaction for a new one.
	newTokens bool
	// erasing says that an erasure has begun and is not done.
	erasing    bool
	generation int64
	// repeats are the calls with a key that were acknowledged since the user was last erased.
	repeats []func(context.Context, *process) error
	actions int
	// checkInDeleted says that a check-in was deleted. An older one does not become the latest again.
	checkInDeleted bool
}

// process is one process until it crashes: stores with a cache, and the deletions on them.
type process struct {
	dynamotest.Stores
	deletions *erasure.Sweeper
	network   *network
}

// network makes the remote calls of one process fail, those to the table and those to the vector index. A process that
// has crashed makes no more calls.
type network struct {
	mu       sync.Mutex
	failures map[remoteCall]dynamotest.Failure
	calls    map[string]int
	crashed  bool
	cancel   context.CancelFunc
}

// remoteCall is the place of a remote call among those of the same operation that a client's call makes, from 0.
type remoteCall struct {
	op    string
	index int
}

func (n *network) call(op string, run func() error) error {
	n.mu.Lock()
	f := n.nextFailure(op)
	if n.crashed {
		n.mu.Unlock()
		return dynamotest.ErrCrash
	}
	crashes := f == dynamotest.CrashBefore || f == dynamotest.CrashAfter
	n.crashed = crashes
	n.mu.Unlock()
	err := f.Apply(op, run)
	if crashes {
		n.cancel() // after the call, which would not be carried out without its context
	}
	return err
}

func (n *network) nextFailure(op string) dynamotest.Failure {
	f := n.failures[remoteCall{op, n.calls[op]}]
	n.calls[op]++
	return f
}

// vectorIndex is an empty index whose calls fail as those to the table do.
type vectorIndex struct{ *network }

func (v vectorIndex) Delete(context.Context, conversation.UserID, int64, []string) error {
	return v.call(dynamotest.IndexCall, func() error { return nil })
}

func (v vectorIndex) Drop(context.Context, conversation.UserID, int64) (int, error) {
	return 0, v.call(dynamotest.IndexCall, func() error { return nil })
}

func (v vectorIndex) DropFrom(context.Context, conversation.UserID, int64, string) (int, error) {
	return 0, v.call(dynamotest.IndexCall, func() error { return nil })
}

func (v vectorIndex) ReindexNext(context.Context, conversation.UserID, conversation.Message) error {
	return v.call(dynamotest.IndexCall, func() error { return nil })
}

// check compares everything that a client can read with what it expects.
func (sim *simulation) check(when string) {
	if diff := diffStates(sim.want, sim.readState()); diff != "" {
		sim.rt.Fatalf("%s (-want +got):\n%s", when, diff)
	}
}

// process returns the running process, a new one after a crash, whose next calls have the given failures. The context
// ends when the process crashes.
func (sim *simulation) process(failures map[remoteCall]dynamotest.Failure) (*process, context.Context) {
	if sim.running == nil {
		n := &network{}
		s := dynamotest.OpenIntercepted(sim.t, sim.table, dynamotest.Interceptor{Call: n.call, NewTokens: sim.newTokens},
			sim.clock.Option(),
			dynamo.WithAnswerLimit(4, longestTurn))
		index := vectorIndex{n}
		deletions := erasure.NewSweeper(s.Erasure(index, sim.clock.Time), index)
		sim.running = &process{Stores: s, network: n, deletions: deletions}
	}
	ctx, cancel := context.WithCancel(sim.t.Context())
	sim.t.Cleanup(cancel)
	n := sim.running.network
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failures, n.calls, n.cancel = failures, map[string]int{}, cancel
	return sim.running, ctx
}

// saveID saves the id of a message or record.
func (sim *simulation) saveID(name, id string) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	sim.ids[name] = id
}

// clientCall is one call of a client.
type clientCall struct {
	// remote are the remote calls that may fail: an operation, and the last of its calls.
	remote []remoteCall
	// retries says that the client repeats the call until it gets an answer.
	retries bool
	do      func(context.Context, *process) error
}

// failingAttempts is how many attempts of a call may fail. Later ones don't.
const failingAttempts = 3

// errGivenUp says that the client does not know whether its call was carried out.
var errGivenUp = errors.New("given up")

// call carries out a client's call while remote calls fail. It returns the call's error, and whether an earlier attempt
// may have been carried out.
func (sim *simulation) call(c clientCall) (again bool, err error) {
	for attempt := 1; ; attempt++ {
		var failures map[remoteCall]dynamotest.Failure
		if attempt <= failingAttempts {
			failures = sim.drawFailures(c.remote)
		}
		p, ctx := sim.process(failures)
		err = c.do(ctx, p)
		if p.network.crashed {
			sim.running = nil
		}
		if !dynamotest.IsUnanswered(err) {
			return attempt > 1, err
		}
		if !c.retries {
			return false, errGivenUp
		}
		if attempt > failingAttempts+1 {
			sim.rt.Fatalf("nothing fails, and there is no answer: %v", err)
		}
		sim.clock.Advance(2 * time.Minute) // leases expire
	}
}

// drawFailures draws the operation first, because an operation of one call is as likely to fail as one of many.
func (sim *simulation) drawFailures(remote []remoteCall) map[remoteCall]dynamotest.Failure {
	failures := map[remoteCall]dynamotest.Failure{}
	for range rapid.SampledFrom([]int{1, 0, 2, 1}).Draw(sim.rt, "failures") {
		at := rapid.SampledFrom(remote).Draw(sim.rt, "remote call")
		at.index = rapid.IntRange(0, at.index).Draw(sim.rt, "index")
		failures[at] = dynamotest.DrawFailure(sim.rt, dynamotest.RequestLost)
	}
	return failures
}

// expect changes the wanted state after a call. After a call that was given up, it accepts both states.
func (sim *simulation) expect(action string, err error, change func(*state)) {
	after := sim.want.clone()
	change(&after)
	switch {
	case errors.Is(err, errGivenUp):
		sim.expectOneOf(action, sim.want, after)
	case err != nil:
		sim.rt.Fatalf("%s: %v", action, err)
	default:
		sim.want = after
	}
}

// expectOneOf reads the state after a call that was given up. It must be one of the candidates, which is wanted from
// then on.
func (sim *simulation) expectOneOf(action string, candidates ...state) {
	got := sim.readState()
	for _, c := range candidates {
		if diffStates(c, got) == "" {
			sim.want = c
			return
		}
	}
	sim.rt.Fatalf("the client gave up %s, and the state is neither that before nor that after it (-after +got):\n%s",
		action, diffStates(candidates[len(candidates)-1], got))
}
