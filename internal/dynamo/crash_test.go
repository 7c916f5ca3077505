package dynamo_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/storetest"
)

// door decides what becomes of the remote calls of one process, to the table and to the index. A process that has
// crashed makes no further call.
type door struct {
	mu            sync.Mutex
	fates         map[nth]int // what is not named is carried out
	calls, writes int
	dead          bool
	die           context.CancelFunc
}

// nth is one of the remote calls of a client's call, or one of those that write, counted from 0.
type nth struct {
	write bool
	at    int
}

func (d *door) fate(op string) int {
	fate := d.fates[nth{false, d.calls}]
	d.calls++
	if op != "Query" && op != "BatchGetItem" {
		fate = max(fate, d.fates[nth{true, d.writes}])
		d.writes++
	}
	return fate
}

func (d *door) call(op string, run func() error) error {
	d.mu.Lock()
	fate := d.fate(op)
	if d.dead {
		d.mu.Unlock()
		return errCrash
	}
	if fate == crashBefore || fate == crashAfter {
		d.dead = true
		d.die()
	}
	d.mu.Unlock()
	switch fate {
	case notCarriedOut:
		return errNoAnswer
	case crashBefore:
		return errCrash
	case crashAfter, answerLost:
		if err := run(); err != nil && fate == answerLost {
			return err
		}
		return map[int]error{crashAfter: errCrash, answerLost: errNoAnswer}[fate]
	}
	return run()
}

// vectors is an index that holds nothing and fails as the table does.
type vectors struct{ *door }

func (v vectors) Delete(context.Context, conversation.UserID, int64, []string) error {
	return v.call("index", func() error { return nil })
}

func (v vectors) Drop(context.Context, conversation.UserID, int64) (int, error) {
	return 0, v.call("index", func() error { return nil })
}

func (v vectors) ReindexNext(context.Context, conversation.UserID, conversation.Message) error {
	return v.call("index", func() error { return nil })
}

// process is what runs until it crashes: a store that remembers what it has seen, and the deletions on it.
type process struct {
	storetest.Stores
	deletions *erasure.Sweeper
	door      *door
}

// world is one user's store, what is done to it, and what a client may expect to see.
type world struct {
	t     *testing.T
	rt    *rapid.T
	table string
	user  conversation.UserID
	clock *clock
	plain storetest.Stores
	now   *process
	want  view
	// ids are those of messages and records, by their contents. Looking notes them from several goroutines.
	ids map[string]string
	mu  sync.Mutex
	// forgetful makes the engine take each attempt of a transaction for a new one.
	forgetful bool
	// erasing says that an erasure has begun and is not done.
	erasing    bool
	generation int64
	// repeats are the keyed calls that were acknowledged since the user was last erased.
	repeats []func(context.Context, *process) error
	steps   int
	// orphaned says that a check-in was deleted: an older one does not become the latest again.
	orphaned bool
}

// start returns the process that runs, another one after a crash, with what becomes of its next calls.
func (w *world) start(drawn map[nth]int) (*process, context.Context) {
	if w.now == nil {
		d := &door{}
		s := withSeam(w.t, w.table, seam{call: d.call, forgetful: w.forgetful}, w.clock.option())
		deletions := erasure.NewSweeper(s.Erasure(vectors{d}, w.clock.time), vectors{d})
		w.now = &process{Stores: s, door: d, deletions: deletions}
	}
	ctx, die := context.WithCancel(w.t.Context())
	w.t.Cleanup(die)
	d := w.now.door
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fates, d.calls, d.writes, d.die = drawn, 0, 0, die
	return w.now, ctx
}

// note remembers the id of a message or record.
func (w *world) note(name, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids[name] = id
}

// call is one call of a client's. depth is about how many remote calls it makes; patient says that it is repeated
// until it is answered.
type call struct {
	depth   int
	patient bool
	do      func(context.Context, *process) error
}

// tries is how often a patient client calls before nothing fails any more.
const tries = 4

// errGivenUp says that the client knows nothing of what became of its call.
var errGivenUp = errors.New("given up")

// make carries out a call, cut at remote calls that are drawn, and returns its answer and whether an earlier try may
// have been carried out.
func (w *world) make(c call) (again bool, err error) {
	for try := 1; ; try++ {
		drawn := map[nth]int{}
		if try < tries {
			for range rapid.SampledFrom([]int{1, 0, 2, 1}).Draw(w.rt, "troubles") {
				n := nth{write: rapid.Bool().Draw(w.rt, "write")}
				n.at = rapid.IntRange(0, map[bool]int{false: c.depth, true: c.depth / 3}[n.write]).Draw(w.rt, "at")
				drawn[n] = rapid.IntRange(notCarriedOut, fates-1).Draw(w.rt, "fate")
			}
		}
		p, ctx := w.start(drawn)
		err = c.do(ctx, p)
		if p.door.dead {
			w.now = nil
		}
		if !unanswered(err) {
			return try > 1, err
		}
		if !c.patient {
			return false, errGivenUp
		}
		if try > tries {
			w.rt.Fatalf("nothing fails, and there is no answer: %v", err)
		}
		w.clock.advance(2 * time.Minute) // leases lapse
	}
}

// unanswered reports whether a client can't tell from the error what became of its call.
func unanswered(err error) bool {
	return fault.Is(err, fault.Unavailable) || errors.Is(err, errCrash) || errors.Is(err, errNoAnswer)
}

// settle checks what is seen when a client has given up: one of these. What it is, is expected from now on.
func (w *world) settle(what string, candidates ...view) {
	got := w.look()
	for _, c := range candidates {
		if differ(c, got) == "" {
			w.want = c
			return
		}
	}
	w.rt.Fatalf("%s was given up: what is seen is neither as before nor as afterwards (-afterwards +seen):\n%s",
		what, differ(candidates[len(candidates)-1], got))
}

// acknowledged changes what is expected, when a call was answered.
func (w *world) acknowledged(what string, err error, change func(*view)) {
	after := w.want.clone()
	change(&after)
	switch {
	case errors.Is(err, errGivenUp):
		w.settle(what, w.want, after)
	case err != nil:
		w.rt.Fatalf("%s: %v", what, err)
	default:
		w.want = after
	}
}

// TestCrashes draws what a client does, and at which remote calls it is cut: each call is repeated with its
// idempotency key, or given up. What is seen in the end is what was acknowledged, each once; what was given up is there
// wholly or not at all; and what was deleted never comes back.
func TestCrashes(t *testing.T) {
	table, users := dynamotest.Table(t), 0
	checkSome(t, 40, func(rt *rapid.T) {
		users++
		clk := newClock()
		w := &world{
			t: t, rt: rt, table: table, user: conversation.UserID(fmt.Sprint("user", users)), clock: clk,
			plain: dynamotest.Open(t, table, clk.option()), want: newView(), ids: map[string]string{},
			forgetful: rapid.Bool().Draw(rt, "forgetful"),
		}
		w.furnish()
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			w.steps++
			clk.advance(time.Minute)
			w.step()
		}
		if diff := differ(w.want, w.look()); diff != "" {
			rt.Fatalf("in the end (-want +seen):\n%s", diff)
		}
		if w.erasing {
			w.erase(true)
			if diff := differ(w.want, w.look()); diff != "" {
				rt.Fatalf("after the erasure has ended (-want +seen):\n%s", diff)
			}
		}
	})
}

// checkSome checks a property that many times, where rapid's flag asks for its usual hundred.
func checkSome(t *testing.T, times int, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	asked := checks.Value.String()
	usual, err := strconv.Atoi(asked)
	if err != nil {
		t.Fatal(err)
	}
	set := func(to string) {
		if err := flag.Set("rapid.checks", to); err != nil {
			t.Fatal(err)
		}
	}
	set(strconv.Itoa(max(1, usual*times/100)))
	defer set(asked)
	rapid.Check(t, property)
}
