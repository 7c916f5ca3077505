package adopt_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestAdoptedSessionsAreDue moves a session of the app's own there and back while its users and the app write, in
// random sequences. What has messages in the shared store that no function has seen is due, or marked for the action
// index, which makes it due.
func TestAdoptedSessionsAreDue(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for n := range 30 {
		s := legacy.Table{Users: 1, Sessions: 1, Messages: 4, Seed: uint64(n + 1)}.Session(0)
		d := &dueSession{appTable: newAppTable(t, s.Item), s: s, user: conversation.UserID(s.User)}
		steps := d.steps()
		names := make([]string, 0, len(steps))
		for name := range steps {
			names = append(names, name)
		}
		slices.Sort(names)
		next := []string{"to dual", "index", "work", "the app writes", "to the store"}
		if n > 0 {
			next = nil
			for range 10 {
				next = append(next, names[random.IntN(len(names))])
			}
		}
		var done []string
		for _, name := range next {
			done = append(done, name)
			steps[name](t)
			d.check(t, fmt.Sprintf("%q", done))
		}
		d.move(t, s, migration.InStore)
		d.index(t)
		if got := d.check(t, fmt.Sprintf("%q, moved and indexed", done)); got.Uncovered() && got.DueAt.IsZero() {
			t.Errorf("%q: the migrated session is not due", done)
		}
	}
}

// dueSession is a session that moves and is written to.
type dueSession struct {
	*appTable
	s    legacy.Session
	user conversation.UserID
	// isWorked says that the functions have worked on the session since it came from the array. The action index is over
	// then.
	isWorked bool
}

func (d *dueSession) steps() map[string]func(*testing.T) {
	stores := dynamotest.StoresOf(d.db)
	move := func(to migration.Placement) func(*testing.T) {
		return func(t *testing.T) {
			d.move(t, d.s, to)
			d.isWorked = d.isWorked && to != migration.InArray
		}
	}
	edit := func(status conversation.Status) func(*testing.T) {
		return func(t *testing.T) {
			change := conversation.SessionChange{Status: &status}
			if _, err := stores.Sessions.UpdateSession(t.Context(), d.user, d.s.ID, change); err != nil {
				t.Error(err)
			}
		}
	}
	return map[string]func(*testing.T){
		"to dual": move(migration.InBoth), "to the store": move(migration.InStore), "back": move(migration.InArray),
		"index": d.index, "complete": edit(conversation.Completed), "reopen": edit(conversation.Active),
		"the app writes": d.appWrites, "work": d.work,
		"append": func(t *testing.T) {
			if _, err := stores.Messages.Append(t.Context(), d.user, dynamotest.OneMessage(d.s.ID, "ours")); err != nil {
				t.Error(err)
			}
		},
		"delete": func(t *testing.T) {
			messages, _, err := stores.Messages.Messages(t.Context(), d.user, d.s.ID, conversation.Page{Limit: 50})
			if err != nil || len(messages) == 0 {
				return
			}
			erasure := stores.Erasure(dynamotest.NoIndex{}, time.Now)
			err = fault.IgnoreNotFound(erasure.DeleteMessage(t.Context(), d.user, d.s.ID, messages[0].ID))
			if err != nil {
				t.Error(err)
			}
		},
		"leave": func(t *testing.T) {
			if err := stores.Sessions.LeaveSession(t.Context(), d.user, d.s.ID, dynamotest.Now); err != nil {
				t.Error(err)
			}
		},
	}
}

// index is the migration's action for the session.
func (d *dueSession) index(t *testing.T) {
	t.Helper()
	r := migration.Record{User: d.user, SessionID: d.s.ID, Key: d.s.Key()}
	store := adopt.NewMigrationStore(d.db, d.client)
	if _, err := store.Do(t.Context(), migration.Index, r, migration.InStore); err != nil {
		t.Error(err)
	}
}

// work covers all messages of a session that is migrated, as the functions do.
func (d *dueSession) work(t *testing.T) {
	t.Helper()
	stores, s := dynamotest.StoresOf(d.db), d.session(t)
	if !s.IsMigrated() || s.MessageCount == 0 {
		return
	}
	d.isWorked = true
	end := conversation.Watermark{Seq: s.LastSeq, At: s.LastMessageAt}
	through := summary.Summary{
		RecordType: conversation.ConversationSummary, SessionID: s.ID, Context: s.Context, CoveredThrough: end.Seq,
		CoveredAt: end.At,
	}
	err := stores.Extraction.SkipExtraction(t.Context(), d.user, s)
	if s.Indexed.Seq < s.LastSeq {
		err = errors.Join(err, stores.Indexing.MarkIndexed(t.Context(), d.user, s, end))
	}
	if s.Summarized.Seq < s.LastSeq {
		err = errors.Join(err, stores.Summaries.SaveSummary(t.Context(), d.user, s, through))
	}
	_, failed := stores.Summaries.Settle(t.Context(), d.user, d.session(t))
	if err := errors.Join(err, failed); err != nil {
		t.Error(err)
	}
}

// appWrites adds an entry to the array, if the record has one.
func (d *dueSession) appWrites(t *testing.T) {
	t.Helper()
	r := d.get(t, "user#"+d.s.User, d.s.Key())
	attributes, _ := r["attributes"].(*types.AttributeValueMemberM)
	if attributes == nil {
		return
	}
	if array, ok := attributes.Value["messages"].(*types.AttributeValueMemberL); ok {
		array.Value = append(array.Value, &types.AttributeValueMemberM{Value: appRecord{
			"role": str("user"), "content": str("the app's"),
		}})
		d.put(t, r)
	}
}

func (d *dueSession) check(t *testing.T, after string) conversation.Session {
	t.Helper()
	got := d.session(t)
	marked := d.get(t, "user#"+d.s.User, d.s.Key())["origin"] != nil && !d.isWorked
	if got.IsMigrated() && got.MessageCount > 0 && got.Uncovered() && got.DueAt.IsZero() && !marked {
		t.Errorf("%s: read through %d of %d and not due", after, got.Summarized.Seq, got.LastSeq)
	}
	return got
}

func (d *dueSession) session(t *testing.T) conversation.Session {
	t.Helper()
	return check.Got(dynamo.NewSessionReader(d.db).Session(t.Context(), d.user, d.s.ID))(t)
}
