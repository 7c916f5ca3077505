package adopt_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// moveBeside moves a session through all placements and back, and does something else before one of its remote calls.
// It returns how many calls were made.
func (s *arraySession) moveBeside(t *testing.T, at int, meanwhile func()) int {
	t.Helper()
	beside := &sleeper{at: at, meanwhile: meanwhile}
	mover := open(dynamotest.Intercept(dynamodbtest.Client(t), dynamotest.Interceptor{Call: beside.call}), s.app.table,
		dynamotest.FixedClock())
	for _, to := range theWay {
		_, err := adopt.Move(t.Context(), mover, s.user, "c", to)
		if fault.Is(err, fault.NotFound) {
			break
		}
		if err != nil {
			t.Fatalf("%s, deletion before call %d: %v", s.user, at, err)
		}
	}
	return beside.calls
}

// stride returns how many calls lie between two of those that a test stops at.
func stride() int {
	if *everyAnswer {
		return 1
	}
	return 2
}

// left returns the records of the user that a deletion or an erasure should not have left.
func (s *arraySession) left(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(dynamotest.Keys(t, s.app.table, s.user), func(sk string) bool {
		return strings.HasPrefix(sk, "control#") || sk == "ltm#erasing" || sk == "workout#1" || strings.HasSuffix(sk, "#new")
	})
}

// TestDeleteWhileMoving deletes a session, or one of its messages, before each remote call of its move. Nothing of it
// comes back.
func TestDeleteWhileMoving(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	t.Run("session", func(t *testing.T) {
		t.Parallel()
		for at := 1; ; at += stride() {
			s := a.newArraySession(t, fmt.Sprint("s", at), 3, 5)
			calls := s.moveBeside(t, at, func() {
				stores := dynamotest.StoresOf(a.db)
				tombstone := check.Got(stores.Deletion.DeleteSession(t.Context(), s.user, "c", dynamotest.Now))(t)
				messages, _, err := stores.Deletion.RemainingMessages(t.Context(), tombstone, conversation.Page{Limit: 9})
				if err == nil {
					err = stores.Deletion.DeleteMessages(t.Context(), s.user, messages)
				}
				check.OK(t, err)
			})
			if calls < at {
				return
			}
			if left := s.left(t); len(left) > 0 {
				t.Errorf("deleted before call %d: there is %q", at, left)
			}
		}
	})
	t.Run("message", func(t *testing.T) {
		t.Parallel()
		for at := 1; ; at += stride() {
			s := a.newArraySession(t, fmt.Sprint("m", at), 3, 5)
			page, _, err := dynamotest.StoresOf(a.db).Messages.Messages(t.Context(), s.user, "c", conversation.Page{Limit: 9})
			check.OK(t, err)
			calls := s.moveBeside(t, at, func() {
				check.OK(t, deleteMessage(t.Context(), dynamotest.StoresOf(a.db), s.user, "c", page[1].ID, time.Now()))
			})
			if calls < at {
				return
			}
			got, _, err := dynamotest.StoresOf(a.db).Messages.Messages(t.Context(), s.user, "c", conversation.Page{Limit: 9})
			if err != nil || len(got) != 2 || got[0].ID != page[0].ID || got[1].ID != page[2].ID {
				t.Errorf("deleted before call %d: %+v, %v", at, got, err)
			}
			if stored := a.stored(t, string(s.user), arraySK); len(stored) != 2 {
				t.Errorf("deleted before call %d: the store has %v", at, stored)
			}
		}
	})
}

// TestEraseWhileMoving erases a user before each remote call of a move. Nothing of the user is left but what is no
// conversation.
func TestEraseWhileMoving(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	for at := 1; ; at += stride() {
		s := a.newArraySession(t, fmt.Sprint("u", at), 3, 5)
		dynamotest.Put(t, a.table, s.user, "workout#1", nil)
		calls := s.moveBeside(t, at, func() { s.erase(t) })
		if calls < at {
			return
		}
		if left := s.left(t); len(left) > 0 || !slices.Contains(dynamotest.Keys(t, a.table, s.user), "workout#1") {
			t.Errorf("erased before call %d: there is %q", at, left)
		}
	}
}

// TestMoveAfterAnErasure erases a user before the switch of a move, and has the app put the record again. It is a
// session of the user's new generation.
func TestMoveAfterAnErasure(t *testing.T) {
	t.Parallel()
	for _, to := range []migration.Placement{migration.InBoth, migration.InStore} {
		a := newAppTable(t)
		s := a.newArraySession(t, "u", 0, 0)
		var once sync.Once
		mover := open(dynamotest.Intercept(a.client, dynamotest.Interceptor{Call: func(op string, run func() error) error {
			if op == "TransactWriteItems" {
				once.Do(func() {
					s.erase(t)
					a.newArraySession(t, "u", 0, 0)
				})
			}
			return run()
		}}), a.table, dynamotest.FixedClock())
		if _, err := adopt.Move(t.Context(), mover, s.user, "c", to); err != nil {
			t.Errorf("move to %s: %v", to, err)
		}
		session, err := dynamotest.StoresOf(a.db).Sessions.Session(t.Context(), s.user, "c")
		if err != nil || session.Generation != 1 || adopt.PlacementOf(session) != to {
			t.Errorf("move to %s: %+v, %v", to, session, err)
		}
	}
}

// erase erases the user.
func (s *arraySession) erase(t *testing.T) {
	t.Helper()
	erasures, until := dynamo.NewErasureStore(s.app.db), dynamotest.Now.Add(time.Minute)
	progress, held, err := erasures.BeginErasure(t.Context(), s.user, until)
	if err != nil || !held {
		t.Fatalf("begin erasure: %v, %v", held, err)
	}
	done, err := erasures.EraseRecords(t.Context(), s.user, progress.Generation, until, func(string, int) {})
	if err != nil || !done {
		t.Fatalf("erase: %v, %v", done, err)
	}
	progress.Done = true
	check.OK(t, erasures.SaveErasure(t.Context(), s.user, progress, dynamotest.Now))
}

// TestMoveAfterADeletion has the app write the record of a deleted session again. It is served, and it moves when the
// deletion is over.
func TestMoveAfterADeletion(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	s := a.newArraySession(t, "u", 3, 5, migration.InBoth)
	stores := dynamotest.StoresOf(a.inStage(t, migration.Shared, dynamotest.PassThrough))
	tombstone := check.Got(stores.Deletion.DeleteSession(t.Context(), s.user, "c", dynamotest.Now))(t)
	messages, _, err := stores.Deletion.RemainingMessages(t.Context(), tombstone, conversation.Page{Limit: 9})
	if err != nil || stores.Deletion.DeleteMessages(t.Context(), s.user, messages) != nil {
		t.Fatal(err)
	}
	s = a.newArraySession(t, "u", 3, 5)
	check.Got(stores.Messages.Append(t.Context(), s.user, dynamotest.OneMessage("c", "later")))(t)
	s.want = append(s.want, "later")
	if got := s.read(t, a.db); !slices.Equal(got, s.want) || len(a.stored(t, "u", arraySK)) > 0 {
		t.Errorf("served %q, stored %v", got, a.stored(t, "u", arraySK))
	}
	if _, err := adopt.Move(t.Context(), a.db, s.user, "c", migration.InStore); err == nil {
		t.Error("the session has moved")
	}
	check.OK(t, stores.Tombstones.DeleteTombstone(t.Context(), tombstone))
	s.checkOnTheWay(t, a.db, migration.InStore)
}

// TestParkedArrayOfADeletedSession takes a session out of the shared store whose parked array is of an earlier session
// of its id. What the app had in that one does not come back.
func TestParkedArrayOfADeletedSession(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	s := a.newArraySession(t, "u", 2, 5, migration.InStore)
	parked := a.get(t, "user#u", "legacy#"+arraySK)
	parked["sessionCreatedAtMs"] = num("1")
	for _, entry := range parked["messages"].(*types.AttributeValueMemberL).Value {
		entry.(*types.AttributeValueMemberM).Value["photo"] = str("deleted.jpg")
	}
	a.put(t, parked)
	check.Got(adopt.Move(t.Context(), a.db, s.user, "c", migration.InBoth))(t)
	array := a.get(t, "user#u", arraySK)["attributes"].(*types.AttributeValueMemberM).Value["messages"]
	entries := array.(*types.AttributeValueMemberL).Value
	for i, entry := range entries {
		fields := entry.(*types.AttributeValueMemberM).Value
		if fields["photo"] != nil || text(fields["content"]) != s.want[i] {
			t.Errorf("entry %d is %v", i, fields)
		}
	}
	if len(entries) != len(s.want) {
		t.Errorf("the array has %d entries, want %d", len(entries), len(s.want))
	}
}

// TestDeleteWithAnOldRecord deletes a session whose record the app has overwritten with an empty one. The messages that
// the shared store has of it go, too.
func TestDeleteWithAnOldRecord(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	for _, left := range []int{0, 1} {
		user := fmt.Sprint("u", left)
		s := a.newArraySession(t, user, 3, 5, migration.InStore)
		stores := dynamotest.StoresOf(a.db)
		check.Got(stores.Messages.Append(t.Context(), s.user, dynamotest.OneMessage("c", "later")))(t)
		a.newArraySession(t, user, left, 5)
		tombstone := check.Got(stores.Deletion.DeleteSession(t.Context(), s.user, "c", dynamotest.Now))(t)
		messages, _, err := stores.Deletion.RemainingMessages(t.Context(), tombstone, conversation.Page{Limit: 9})
		if err != nil || len(messages) != 4 {
			t.Errorf("%d messages are left to delete, %v; want 4", len(messages), err)
		}
	}
}

// TestErasureOfArrays erases a user who has sessions in all placements. An app's record that it writes meanwhile goes
// too, and records of other kinds stay.
func TestErasureOfArrays(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	for _, way := range [][]migration.Placement{
		nil, {migration.InBoth}, {migration.InStore}, {migration.InStore, migration.InArray},
	} {
		s := a.newArraySession(t, fmt.Sprint("u", len(way), way), 3, 5, way...)
		dynamotest.Put(t, a.table, s.user, "workout#1", nil)
		erasures, until := dynamo.NewErasureStore(a.db), dynamotest.Now.Add(time.Minute)
		progress, _, err := erasures.BeginErasure(t.Context(), s.user, until)
		check.OK(t, err)
		stores := dynamotest.StoresOf(a.db)
		check.Fault(t, check.ErrorOf(stores.Sessions.Session(t.Context(), s.user, "c")), fault.NotFound,
			"way %v: the session of an erased user", way)
		var once sync.Once
		done, err := erasures.EraseRecords(t.Context(), s.user, progress.Generation, until, func(string, int) {
			once.Do(func() {
				a.newArraySession(t, string(s.user), 1, 5)
				dynamotest.Put(t, a.table, s.user, "conversation#other", appRecord{
					"generation": num("99"), // the app's
				})
				dynamotest.NewSession(t, stores, s.user, "program_designer", "new")
			})
		})
		if err != nil || !done {
			t.Fatalf("way %v: %v, %v", way, done, err)
		}
		if _, err := stores.Sessions.Session(t.Context(), s.user, "new"); err != nil {
			t.Errorf("way %v: the session of the user who has come back: %v", way, err)
		}
		if left := s.left(t); len(left) > 0 || !slices.Contains(dynamotest.Keys(t, a.table, s.user), "workout#1") {
			t.Errorf("way %v: there is %q", way, left)
		}
	}
}
