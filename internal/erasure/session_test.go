package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestDeleteSession(t *testing.T) {
	s := newFixture(t)
	gone, kept := s.addMessages(ann, "gone", "a1", "a2", strings.Repeat("long ", 3000)), []conversation.Message{}
	kept = append(kept, s.addMessages(ann, "kept", "b1")...)
	gone = append(gone, s.addMessages(ann, "gone", "a4")...) // the other session's message lies in between
	other := s.summarize(ann, "kept")
	dead := s.summarize(ann, "gone")
	only := s.remember(longterm.Extracted, gone[0], gone[1])
	both := s.remember(longterm.Extracted, gone[0], kept[0])
	byHand := s.remember(longterm.Seeded, gone[0])
	unsourced := s.remember(longterm.Extracted)
	s.savePrompt("gone")
	s.savePrompt("kept")
	check.OK(t, s.DeleteSession(t.Context(), ann, "gone"))
	check.Fault(t, check.ErrorOf(s.store.Sessions.Session(t.Context(), ann, "gone")), fault.NotFound,
		"the session after it was deleted")
	line, _, err := s.store.Messages.Timeline(t.Context(), ann, conversation.Range{}, conversation.Page{Limit: 50})
	if err != nil || len(line) != 1 || line[0].ID != kept[0].ID {
		t.Errorf("timeline %v, %v", line, err)
	}
	want := map[string]bool{
		kept[0].ID: true, other.ID(): true, both.ID: true, byHand.ID: true, unsourced.ID: true,
	}
	if diff := cmp.Diff(want, s.vectors(ann, 0)); diff != "" {
		t.Errorf("vectors (-want +got), deleted %s, %s:\n%s", only.ID, dead.ID(), diff)
	}
	check.Fault(t, check.ErrorOf(s.store.Memories.Get(t.Context(), ann, only.ID)), fault.NotFound,
		"a fact drawn only from it")
	keys := s.keys(ann)
	if count(keys, "summary#") != 1 || count(keys, "prompt#") != 1 || count(keys, "conversation#") != 1 {
		t.Errorf("left are %v", keys)
	}
	check.Fault(t, s.DeleteSession(t.Context(), ann, "gone"), fault.NotFound, "delete it again")
	checkTombstoneSweeps(t, s, gone[0].ID, dead.ID())
	if again := s.addMessages(ann, "gone", "new"); again[0].Seq != 1 {
		t.Errorf("a new session of the same id begins with seq %d", again[0].Seq)
	}
}

// checkTombstoneSweeps writes vectors twice, as a late worker may, and expects that the sweeps delete them each time.
func checkTombstoneSweeps(t *testing.T, s *fixture, ids ...string) {
	t.Helper()
	for _, wait := range []time.Duration{15 * time.Minute, 25 * time.Hour} {
		s.indexed(ann, 0, ids...)
		if n, err := s.sweep(); err != nil || n != 0 {
			t.Errorf("swept %d too early, %v", n, err)
		}
		s.Advance(wait)
		if n, err := s.sweep(); err != nil || n != 2 { // the deletion, and that of the memory drawn from it
			t.Errorf("swept %d, %v", n, err)
		}
		left := s.vectors(ann, 0)
		for _, id := range ids {
			if left[id] {
				t.Errorf("the late vector %s is still there", id)
			}
		}
	}
	if count(s.keys(ann), "control#tombstone#") != 0 {
		t.Error("a tombstone is still there after its sweeps")
	}
}

func TestDeleteSessionGoesOnAfterAFailure(t *testing.T) {
	for how, goOn := range map[string]func(s *fixture) error{
		"repeat": func(s *fixture) error { return s.DeleteSession(t.Context(), ann, "s") },
		"sweep": func(s *fixture) error {
			s.Advance(time.Hour)
			n, err := s.sweep()
			if n != 1 {
				t.Errorf("swept %d", n)
			}
			return err
		},
		"another of its id": func(s *fixture) error {
			s.Advance(time.Second)
			s.addMessages(ann, "s", "new")
			return s.DeleteSession(t.Context(), ann, "s")
		},
	} {
		t.Run(how, func(t *testing.T) {
			s := newFixture(t)
			s.addMessages(ann, "s", "1", "2")
			s.records.fail = errTable
			if err := s.DeleteSession(t.Context(), ann, "s"); !errors.Is(err, errTable) {
				t.Fatalf("delete without a table: %v", err)
			}
			check.Fault(t, check.ErrorOf(s.store.Messages.Append(t.Context(), ann, conversation.Append{
				SessionID: "s", Messages: []conversation.NewMessage{{Role: conversation.RoleUser, Content: "x"}},
			})), fault.NotFound, "append while it is deleted")
			s.records.fail = nil
			check.OK(t, goOn(s))
			if left := count(s.keys(ann), "msg#"); left != 0 || len(s.vectors(ann, 0)) != 0 {
				t.Errorf("%d messages and vectors %v are left", left, s.vectors(ann, 0))
			}
		})
	}
}

// manyMessages is a session store in which a deleted session still has many messages.
type manyMessages struct {
	erasure.SessionStore
	messages []conversation.Message
}

func (m manyMessages) RemainingMessages(context.Context, erasure.Tombstone, conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	return m.messages, "", nil
}

func (manyMessages) DeleteMessages(context.Context, conversation.UserID, []conversation.Message) error {
	return nil
}

// savedTombstones records the last tombstone that was saved.
type savedTombstones struct {
	erasure.TombstoneStore
	last erasure.Tombstone
}

func (s *savedTombstones) SaveTombstone(ctx context.Context, t erasure.Tombstone, due time.Time) error {
	s.last = t
	return s.TombstoneStore.SaveTombstone(ctx, t, due)
}

// TestTombstonesAreBounded deletes a session with more messages than its tombstone can have vector ids. The tombstone
// has the last ones.
func TestTombstonesAreBounded(t *testing.T) {
	s := newFixture(t)
	s.addMessages(ann, "s", "1")
	many := manyMessages{SessionStore: s.records}
	for i := range 2100 {
		many.messages = append(many.messages, conversation.Message{ID: fmt.Sprint(i)})
	}
	saved := &savedTombstones{TombstoneStore: s.Deps.Tombstones}
	deps := s.Deps
	deps.Sessions, deps.Tombstones = many, saved
	check.OK(t, erasure.New(deps).DeleteSession(t.Context(), ann, "s"))
	if n := len(saved.last.Vectors); n != 2000 || !slices.Contains(saved.last.Vectors, "2099") {
		t.Errorf("the tombstone has %d vectors, want the last 2000", n)
	}
}

// TestDeletionsWithoutTheIndex deletes while the index is down. Nothing is left in the table, and a sweep deletes the
// vectors once the index answers.
func TestDeletionsWithoutTheIndex(t *testing.T) {
	for name, remove := range map[string]func(s *fixture, m []conversation.Message) error{
		"session": func(s *fixture, _ []conversation.Message) error { return s.DeleteSession(t.Context(), ann, "s") },
		"message": func(s *fixture, m []conversation.Message) error {
			return s.DeleteMessage(t.Context(), ann, "s", m[0].ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			m := s.addMessages(ann, "s", "only")
			fact := s.remember(longterm.Extracted, m[0])
			s.index.fail = errIndex
			if err := remove(s, m); err != nil {
				t.Fatalf("delete without an index: %v", err)
			}
			check.Equal(t, 1, s.index.failures.Load(), "calls to an index that is down, want 1")
			if keys := s.keys(ann); count(keys, "msg#")+count(keys, "ltm#memory#") != 0 {
				t.Errorf("left are %v", keys)
			}
			s.Advance(2 * time.Minute)
			if _, err := s.sweep(); !errors.Is(err, errIndex) {
				t.Errorf("sweep without an index: %v", err)
			}
			if left := s.vectors(ann, 0); !left[m[0].ID] || !left[fact.ID] {
				t.Fatalf("vectors %v: the index was not down", left)
			}
			if n, err := s.sweep(); n != 0 || err != nil {
				t.Errorf("at once after a failure %d are swept, %v", n, err)
			}
			s.Advance(2 * time.Minute)
			s.index.fail = nil
			for range 3 {
				check.Got(s.sweep())(t)
				if left := s.vectors(ann, 0); len(left) != 0 {
					t.Errorf("vectors %v are left", left)
				}
				s.Advance(26 * time.Hour)
			}
			if keys := s.keys(ann); count(keys, "control#tombstone#") != 0 {
				t.Errorf("left are %v", keys)
			}
		})
	}
}
