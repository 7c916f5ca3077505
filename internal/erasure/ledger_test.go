package erasure_test

import (
	"context"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// ledger is the real ledger, which can be made to fail.
type ledger struct {
	*dynamo.LedgerStore
	fail error
}

func (l *ledger) RecordErased(ctx context.Context, e erasure.Erased) error {
	if l.fail != nil {
		return l.fail
	}
	return l.LedgerStore.RecordErased(ctx, e)
}

// withLedger gives the fixture a ledger in a table of its own, and returns what it has at any time.
func withLedger(t *testing.T, s *fixture) (*ledger, func() []erasure.Erased) {
	t.Helper()
	table := dynamodbtest.Table(t, dynamo.CreateLedgerInput("any"))
	l := &ledger{LedgerStore: dynamo.NewLedgerStore(dynamo.New(dynamodbtest.Client(t), table, dynamo.WithClock(s.Time)))}
	s.Ledger = l
	return l, func() []erasure.Erased {
		t.Helper()
		var out []erasure.Erased
		for e, err := range l.Entries(t.Context(), dynamodbtest.Client(t)) {
			check.OK(t, err)
			out = append(out, e)
		}
		return out
	}
}

// TestNothingIsErasedWithoutTheLedger lets the ledger fail. Neither an erasure nor a deletion is done then, and the
// sweep ends both when the ledger takes their entries.
func TestNothingIsErasedWithoutTheLedger(t *testing.T) {
	s := newFixture(t)
	l, entries := withLedger(t, s)
	l.fail = errTable
	deleted := s.addMessages(ann, "s", "one", "two")[0]
	s.addMessages(ann, "t", "three")
	session := check.Got(s.store.Sessions.Session(t.Context(), ann, "t"))(t)
	s.addMessages(bob, "s", "four")
	if err := s.DeleteMessage(t.Context(), ann, "s", deleted.ID); err == nil {
		t.Error("a message is deleted without an entry of the ledger")
	}
	if err := s.DeleteSession(t.Context(), ann, "t"); err == nil {
		t.Error("a session is deleted without an entry of the ledger")
	}
	receipt, err := s.Erase(t.Context(), bob, s.Time().Add(20*time.Second))
	if err == nil || receipt.Done {
		t.Errorf("a user is erased without an entry of the ledger: %+v", receipt)
	}
	l.fail = nil
	s.Advance(2 * time.Minute)
	check.Got(s.sweep())(t)
	got := map[erasure.Erased]bool{}
	for _, e := range entries() {
		e.At = time.Time{}
		got[e] = true
	}
	want := map[erasure.Erased]bool{
		{User: ann, SessionID: "s", MessageID: deleted.ID}:              true,
		{User: ann, SessionID: "t", CreatedAt: session.CreatedAt.UTC()}: true,
		{User: bob, Generation: 1}:                                      true,
	}
	check.Same(t, want, got, "entries")
	if r, err := s.Erasure(t.Context(), bob); err != nil || !r.Done {
		t.Errorf("the erasure of bob after the sweep: %+v, %v", r, err)
	}
	s.Advance(erasure.LedgerTime)
	check.Equal(t, 0, len(entries()), "entries are there after their time")
}

// TestErasedAgain plays a table that has everything again, as a restored one does, for a user who was erased twice.
func TestErasedAgain(t *testing.T) {
	s := newFixture(t)
	s.addMessages(ann, "s", "one")
	s.indexed(ann, 3, "said-after-the-erasure")
	again := &erasure.Repeater{Service: s.Service, Session: s.store.Sessions.Session}
	entry := erasure.Erased{User: ann, Generation: 3}
	for i, want := range []bool{true, false} {
		had, err := again.EraseAgain(t.Context(), entry, s.Time().Add(time.Minute))
		if err != nil || had != want {
			t.Errorf("the call %d erases: %v, %v; want %v", i+1, had, err, want)
		}
	}
	receipt, err := s.Erasure(t.Context(), ann)
	if err != nil || receipt.Generation != 3 || !receipt.Done {
		t.Errorf("the user's erasure: %+v, %v", receipt, err)
	}
	check.Equal(t, 0, len(s.vectors(ann, 3)), "vectors of the time after the erasure are there")
	// The user comes back. What is said then is of the generation of the entry, and stays.
	s.addMessages(ann, "s", "two")
	if had, err := again.EraseAgain(t.Context(), entry, s.Time().Add(time.Minute)); had || err != nil {
		t.Errorf("what was said after the erasure is erased: %v, %v", had, err)
	}
}

// TestAnotherSessionOfTheIDStays has a session under the id of a deleted one.
func TestAnotherSessionOfTheIDStays(t *testing.T) {
	s := newFixture(t)
	s.addMessages(ann, "s", "one")
	again := &erasure.Repeater{Service: s.Service, Session: s.store.Sessions.Session}
	entry := erasure.Erased{User: ann, SessionID: "s", CreatedAt: s.Time().Add(-time.Hour)}
	if had, err := again.EraseAgain(t.Context(), entry, s.Time().Add(time.Minute)); had || err != nil {
		t.Errorf("another session of the id is deleted: %v, %v", had, err)
	}
	if _, err := s.store.Sessions.Session(t.Context(), ann, "s"); err != nil {
		t.Error(err)
	}
}
