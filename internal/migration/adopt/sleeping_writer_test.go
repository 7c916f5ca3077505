package adopt_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// sleeper is a writer's process that stops before one of its remote calls.
type sleeper struct {
	calls, at int
	// meanwhile happens while it sleeps.
	meanwhile func()
}

func (s *sleeper) call(_ string, run func() error) error {
	if s.calls++; s.calls == s.at {
		s.meanwhile()
	}
	return run()
}

// TestWriterSleeps lets the stage change forward or back while a writer sleeps: for a minute between two appends, so
// that it knows the old stage and where the session was, and before each remote call of an append. Meanwhile the job
// moves the session, or it has not come to it yet. The write lands where the session is then.
func TestWriterSleeps(t *testing.T) {
	t.Parallel()
	stages := []migration.Stage{migration.Embedded, migration.Dual, migration.SharedRead, migration.Shared}
	for i := range len(stages) - 1 {
		for _, c := range [][2]migration.Stage{{stages[i], stages[i+1]}, {stages[i+1], stages[i]}} {
			t.Run(fmt.Sprint(c[0], " to ", c[1]), func(t *testing.T) {
				t.Parallel()
				n := nap{appTable: newAppTable(t), from: c[0], to: c[1]}
				ways := []way{nil, {n.from.Placement()}}
				if n.from == migration.Embedded {
					ways = ways[:1] // the app's record is there
				}
				for _, n.moved = range []bool{true, false} {
					for _, n.way = range ways {
						n.betweenAppends(t)
						for at := 1; (n.moved || *everyAnswer) && n.inAppend(t, at); at++ {
						}
					}
				}
			})
		}
	}
}

// nap is a change of the stage while a writer sleeps.
type nap struct {
	*appTable
	from, to migration.Stage
	// way is where the session has gone before. moved says that the job moves it while the writer sleeps.
	way   way
	moved bool
	users int

	session *arraySession
	clock   *dynamotest.Clock
}

// start puts a session in a stage, and returns the writer.
func (n *nap) start(t *testing.T, call func(string, func() error) error) *dynamo.DB {
	t.Helper()
	n.users++
	n.clock = dynamotest.NewClock()
	n.session = n.newArraySession(t, fmt.Sprint("u", n.users), 3, 5, n.way...)
	n.setStage(t, n.from, n.clock)
	return open(dynamotest.Intercept(n.client, dynamotest.Interceptor{Call: call}), n.table, n.clock.Option())
}

// sleep changes the stage and lets a minute pass.
func (n *nap) sleep(t *testing.T) {
	t.Helper()
	n.setStage(t, n.to, n.clock)
	n.clock.Advance(time.Minute)
	if n.moved {
		n.job(t)
	}
}

func (n *nap) job(t *testing.T) {
	t.Helper()
	check.Got(adopt.Move(t.Context(), n.db, n.session.user, "c", n.to.Placement()))(t)
}

func (n *nap) append(t *testing.T, writer *dynamo.DB, content string) {
	t.Helper()
	messages := dynamotest.StoresOf(writer).Messages
	if _, err := messages.Append(t.Context(), n.session.user, dynamotest.OneMessage("c", content)); err != nil {
		t.Fatalf("%+v: %v", n, err)
	}
	n.session.want = append(n.session.want, content)
}

func (n *nap) placement(t *testing.T) migration.Placement {
	t.Helper()
	s := check.Got(dynamotest.StoresOf(n.db).Sessions.Session(t.Context(), n.session.user, "c"))(t)
	return adopt.PlacementOf(s)
}

// betweenAppends sleeps after an append. The next one goes where the new stage says. Only the job takes a session out
// of the shared store.
func (n *nap) betweenAppends(t *testing.T) {
	t.Helper()
	writer := n.start(t, dynamotest.PassThrough)
	n.append(t, writer, "one")
	n.sleep(t)
	before := n.placement(t)
	n.append(t, writer, "two")
	want := n.to.Placement()
	if before == migration.InStore {
		want = before
	}
	got := n.placement(t)
	if got != want {
		t.Errorf("way %v, moved %v: the session is %s, want %s", n.way, n.moved, got, want)
	}
	n.checkOnTheWay(t, got)
}

// checkOnTheWay checks the messages where the session is, in the placement of the new stage, in the shared store and in
// the array.
func (n *nap) checkOnTheWay(t *testing.T, is migration.Placement) {
	t.Helper()
	all := slices.Compact(way{is, n.to.Placement(), migration.InStore, migration.InArray})
	n.session.checkOnTheWay(t, n.db, all[1:]...)
}

// inAppend sleeps before a call of an append, and reports whether it has so many. Where the job had nothing to move,
// the writer may bring the session to the old stage's place. The job then takes it back.
func (n *nap) inAppend(t *testing.T, at int) bool {
	t.Helper()
	var before migration.Placement
	s := &sleeper{at: at, meanwhile: func() {
		before = n.placement(t)
		n.sleep(t)
	}}
	writer := n.start(t, s.call)
	n.append(t, writer, "later")
	if s.calls < at {
		return false
	}
	got := n.placement(t)
	if n.moved && got != n.to.Placement() && (before != n.to.Placement() || got != n.from.Placement()) {
		t.Errorf("way %v, call %d: the session is %s, was %s, and the stage is %s", n.way, at, got, before, n.to)
	}
	n.checkOnTheWay(t, got)
	return true
}

// TestRollbackSettles appends to a dual session when the stage has just become embedded. The message goes to both
// places until every reader knows that the shared store does not get all messages any more.
func TestRollbackSettles(t *testing.T) {
	t.Parallel()
	n := nap{
		appTable: newAppTable(t), from: migration.Dual, to: migration.Embedded,
		way: way{migration.InBoth},
	}
	writer := n.start(t, dynamotest.PassThrough)
	n.setStage(t, migration.Embedded, n.clock)
	for _, want := range []migration.Placement{migration.InBoth, migration.InArray} {
		n.append(t, writer, string(want))
		check.Equal(t, want, n.placement(t), "the session")
		n.clock.Advance(migration.SettleTime)
	}
	n.session.checkOnTheWay(t, n.db, migration.InStore)
}
