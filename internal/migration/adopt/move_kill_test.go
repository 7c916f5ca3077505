package adopt_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// killedNetwork ends a process at one of its remote calls.
type killedNetwork struct {
	mu     sync.Mutex
	calls  int
	at     int
	how    dynamotest.Failure
	cancel context.CancelFunc
	// afterRead says that the process ended after a read. It has left what it left after the write before.
	afterRead bool
}

func (n *killedNetwork) call(op string, run func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	switch {
	case n.calls < n.at || n.how == dynamotest.AnswerLost && n.calls > n.at:
		return run()
	case n.calls > n.at:
		return dynamotest.ErrCrash
	}
	err := n.how.Apply(op, run)
	if n.how != dynamotest.AnswerLost {
		n.afterRead = op == dynamotest.QueryCall || op == dynamotest.BatchGet
		n.cancel() // after the call, which would not be carried out without its context
	}
	return err
}

// theWay is a move through all placements and back.
var theWay = way{
	migration.InBoth, migration.InStore, migration.InBoth, migration.InArray, migration.InStore,
}

// TestMoveIsKilled ends a move after each of its remote calls, and loses the answer of each. A writer then appends, and
// another process moves the session on. A session of more messages than a transaction has takes another call where they
// are copied. Later moves make the same calls for a few messages.
func TestMoveIsKilled(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	for name, c := range map[string]struct {
		messages int
		way      way
		calls    int
	}{
		"all moves": {3, theWay, 14}, "many copies": {101, theWay[:1], 4},
	} {
		for _, how := range []dynamotest.Failure{dynamotest.CrashAfter, dynamotest.AnswerLost} {
			t.Run(fmt.Sprint(name, how), func(t *testing.T) {
				t.Parallel()
				for at := 1; ; at++ {
					s := a.newArraySession(t, fmt.Sprint(name, how, at), c.messages, 5)
					if calls := s.killMove(t, c.way, at, how); calls < at {
						if calls < c.calls {
							t.Errorf("the way has %d calls only", calls)
						}
						return
					}
				}
			})
		}
	}
}

// killMove moves a session with a failure at one call, and checks what is left and what is in the end. It returns how
// many calls were made until then.
func (s *arraySession) killMove(t *testing.T, way way, at int, how dynamotest.Failure) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := &killedNetwork{at: at, how: how, cancel: cancel}
	killed := s.app.inStage(t, migration.Dual, n.call)
	for _, to := range way {
		if _, err := adopt.Move(ctx, killed, s.user, "c", to); err != nil {
			break
		}
	}
	if n.afterRead {
		return n.calls
	}
	writer := s.app.inStage(t, migration.Dual, dynamotest.PassThrough)
	later := dynamotest.OneMessage("c", "later")
	if _, err := dynamotest.StoresOf(writer).Messages.Append(t.Context(), s.user, later); err != nil {
		t.Fatalf("%s: append after call %d: %v", s.user, at, err)
	}
	s.want = append(s.want, "later")
	s.checkOnTheWay(t, writer, migration.InArray, migration.InStore)
	return n.calls
}

// TestMoveOfWhatIsGone erases the user, or deletes the session, before the first transaction of a move: that of the
// whole move, or of the first of two parts of the copies. Nothing is written.
func TestMoveOfWhatIsGone(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	erase := func(s *arraySession) error {
		a.put(t, appRecord{
			"pk":         str("user#" + string(s.user)),
			"sk":         str("control#generation"),
			"generation": num("1"), "erasing": &types.AttributeValueMemberBOOL{Value: true},
		})
		return nil
	}
	remove := func(s *arraySession) error {
		_, err := dynamotest.StoresOf(a.db).Deletion.DeleteSession(t.Context(), s.user, "c", dynamotest.Now)
		return err
	}
	for name, end := range map[string]func(*arraySession) error{"erased": erase, "deleted": remove} {
		for _, messages := range []int{4, 150} {
			var once sync.Once
			s := a.newArraySession(t, fmt.Sprint(name, messages), messages, 5)
			db := open(dynamotest.Intercept(a.client, dynamotest.Interceptor{Call: func(op string, run func() error) error {
				if op == "TransactWriteItems" {
					once.Do(func() {
						if err := end(s); err != nil {
							t.Error(err)
						}
					})
				}
				return run()
			}}), a.table, dynamotest.FixedClock())
			check.Fault(t, check.ErrorOf(adopt.Move(t.Context(), db, s.user, "c", migration.InStore)), fault.NotFound,
				"%s", s.user)
			if got := a.stored(t, string(s.user), arraySK); len(got) > 0 {
				t.Errorf("%s: the store has %d messages", s.user, len(got))
			}
		}
	}
}

// TestMoveOfACopiedArray moves two sessions whose arrays have an entry with the same id, as when an app copies a
// conversation. The second stays where it is, and the first keeps its message.
func TestMoveOfACopiedArray(t *testing.T) {
	t.Parallel()
	array := map[string]any{"messages": []any{map[string]any{
		"role": "user", "content": "hi", "messageId": "msg_u_1700000000_00abcdefghij",
	}}}
	var records []appRecord
	for _, id := range []string{"a", "b"} {
		r := check.Got(attributevalue.MarshalMap(map[string]any{
			"pk": "user#u", "sk": "conversation#" + id,
			"attributes": array,
		}))(t)
		records = append(records, r)
	}
	a := newAppTable(t, records...)
	check.Got(adopt.Move(t.Context(), a.db, "u", "a", migration.InStore))(t)
	_, err := adopt.Move(t.Context(), a.db, "u", "b", migration.InStore)
	if reason, ok := migration.ReasonOf(err); !ok || reason != "another session has a message of the same id" {
		t.Errorf("got %v", err)
	}
	if got := a.stored(t, "u", "conversation#a"); len(got) != 1 {
		t.Errorf("the first session has %v", got)
	}
}

// TestMoveIsMarked checks that the functions of the stream leave out what the job writes, until a client writes.
func TestMoveIsMarked(t *testing.T) {
	t.Parallel()
	s := legacy.Table{Users: 1, Sessions: 1, Messages: 4, Seed: 1}.Session(0)
	a := newAppTable(t, s.Item)
	origins := func() (session, message string) {
		return text(a.get(t, "user#"+s.User, s.Key())["origin"]), text(a.middle(t, s)["origin"])
	}
	for _, to := range []migration.Placement{migration.InBoth, migration.InStore, migration.InBoth} {
		a.move(t, s, to)
		if session, message := origins(); session != "backfill" || message != "backfill" {
			t.Errorf("in %s the session's origin is %q, a message's %q", to, session, message)
		}
	}
	check.Got(dynamotest.StoresOf(a.db).Messages.Append(t.Context(), conversation.UserID(s.User),
		dynamotest.OneMessage(s.ID, "later")))(t)
	if session, _ := origins(); session != "" {
		t.Errorf("after an append the session's origin is %q", session)
	}
	a.move(t, s, migration.InStore)
	if session, _ := origins(); session != "backfill" {
		t.Errorf("moved again, the session's origin is %q", session)
	}
}

// TestIDsAfterTheWayBack deletes the first of equal messages of a shared session. The others keep their ids in the
// array that comes back, although these were made of their places and times.
func TestIDsAfterTheWayBack(t *testing.T) {
	t.Parallel()
	entry := map[string]any{"role": "user", "content": "Done."}
	r := check.Got(attributevalue.MarshalMap(map[string]any{
		"pk": "user#u", "sk": "conversation#c", "attributes": map[string]any{"messages": []any{entry, entry, entry}},
	}))(t)
	a := newAppTable(t, r)
	stores := dynamotest.StoresOf(a.db)
	read := func() []conversation.Message {
		t.Helper()
		page, _, err := stores.Messages.Messages(t.Context(), "u", "c", conversation.Page{Limit: 10})
		check.OK(t, err)
		return page
	}
	before := read()
	for _, to := range []migration.Placement{migration.InStore, migration.InArray} {
		check.Got(adopt.Move(t.Context(), a.db, "u", "c", to))(t)
		if to == migration.InStore {
			check.Got(stores.Deletion.DeleteMessage(t.Context(), "u", before[0], nil, dynamotest.Now))(t)
		}
	}
	after := read()
	if len(after) != 2 || after[0].ID != before[1].ID || after[1].ID != before[2].ID {
		t.Errorf("before:\n%+v\nafter:\n%+v", before, after)
	}
}

// killedScans ends a process at its scans too.
type killedScans struct {
	adopt.ScanAPI
	*killedNetwork
}

func (k killedScans) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...dynamotest.APIOption,
) (out *dynamodb.ScanOutput, err error) {
	err = k.call("Query", func() error {
		out, err = k.ScanAPI.Scan(ctx, in, o...)
		return err
	})
	return out, err
}

// TestBackfillIsKilled ends the process of a backfill after each of its remote calls. The next one does the rest, and a
// third one finds nothing to do.
func TestBackfillIsKilled(t *testing.T) {
	t.Parallel()
	source := legacy.Table{Users: 2, Sessions: 2, Messages: 6, Seed: 6}
	for _, stage := range []migration.Stage{migration.Dual, migration.Shared} {
		t.Run(string(stage), func(t *testing.T) {
			t.Parallel()
			for at, ended := 1, false; !ended; at++ {
				a := newAppTable(t)
				check.OK(t, source.Load(t.Context(), a.client, a.table))
				ctx, cancel := context.WithCancel(t.Context())
				n := &killedNetwork{how: dynamotest.CrashAfter, cancel: cancel, at: math.MaxInt}
				api := dynamotest.Intercept(a.client, dynamotest.Interceptor{Call: n.call})
				service := a.service(t, api, killedScans{a.client, n}, stage)
				n.calls, n.at = 0, at
				_, err := service.Run(ctx, migration.Request{Action: "backfill", TotalSegments: 1})
				if ended = err == nil; ended && at < 12 {
					t.Errorf("the backfill has %d calls only", n.calls)
				}
				cancel()
				if n.afterRead {
					continue
				}
				next := adopt.NewMigrationStore(open(a.client, a.table), a.client)
				service.Table = next
				run(t, service, migration.Backfill)
				if again := run(t, service, migration.Backfill); again.Progress.Changed > 0 || again.Backfilled != 100 {
					t.Errorf("call %d: a third backfill changes %+v", at, again)
				}
				for i := range source.Sessions {
					s := source.Session(i)
					a.wantStored(t, s)
					check.Equal(t, string(stage.Placement()), text(a.get(t, "user#"+s.User, s.Key())["placement"]),
						"call %d: %s", at, s.ID)
				}
			}
		})
	}
}
