package extraction_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestErasedMeanwhile erases the user while the model works.
func TestErasedMeanwhile(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.say(t, "a", "fact 1")
	e.while = func() {
		erasing := e.stores.Erasure(dynamotest.NoIndex{}, e.clock)
		if _, err := erasing.Erase(t.Context(), e.user, e.clock().Add(time.Minute)); err != nil {
			t.Error(err)
		}
	}
	_, _ = e.service().Extract(t.Context(), e.user, appContext, "a")
	e.wantValid(t)
	e.wantCalls(t, 1)
}

// TestMessageDeletedMeanwhile deletes a message while the model works. What follows from it alone is not stored, and
// what was stored of another one goes with it.
func TestMessageDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	said := e.say(t, "a", "fact 1", "fact 2")
	remove := func(i int) {
		erasing := e.stores.Erasure(dynamotest.NoIndex{}, e.clock)
		if err := erasing.DeleteMessage(t.Context(), e.user, "a", said[i].ID); err != nil {
			t.Error(err)
		}
	}
	e.while = func() { remove(0) }
	e.extract(t, "a")
	e.wantValid(t, "fact 2")
	e.wantCalls(t, 1)
	remove(1)
	e.wantValid(t)
}

// TestReplacedIsDeletedMeanwhile deletes the message of what a fact replaces while the model works, as an edit does.
// What that had replaced is replaced, too, and does not hold again.
func TestReplacedIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.safety = "health"
	e.say(t, "old", "fact: 10 mg")
	e.extract(t, "old")
	e.advance(time.Minute)
	e.supersedes = "fact: 10 mg"
	edited := e.say(t, "a", "fact: 50 mg")[0]
	e.extract(t, "a")
	e.advance(time.Minute)
	e.supersedes = "fact: 50 mg"
	e.while = func() {
		e.while = nil
		service := e.stores.Erasure(noIndex{}, e.clock)
		if err := service.DeleteMessage(t.Context(), e.user, "a", edited.ID); err != nil {
			t.Error(err)
		}
	}
	e.say(t, "b", "fact: 5 mg")
	e.extract(t, "b")
	e.wantValid(t, "fact: 5 mg")
}

// TestRepeatedIsDeletedMeanwhile deletes the memory that a fact repeats while the model works: with its message, as an
// edit of that does, or by itself, as the user does who wants it forgotten. Only then the fact is not noted.
func TestRepeatedIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		remove func(e *echo, m longterm.Memory) error
		want   []string
	}{
		{func(e *echo, m longterm.Memory) error {
			return e.stores.Erasure(noIndex{}, e.clock).DeleteMessage(t.Context(), e.user, "a", m.MessageIDs[0])
		}, []string{"fact: peanuts can kill"}},
		{func(e *echo, m longterm.Memory) error { return e.stores.Memories.Delete(t.Context(), e.user, m.ID) }, nil},
	} {
		e := newEcho(t)
		e.safety, e.repeats = "health", "fact: allergic to nuts"
		e.say(t, "a", e.repeats)
		e.extract(t, "a")
		known := e.memories(t)[0]
		e.while = func() {
			e.while = nil
			check.OK(t, tt.remove(e, known))
		}
		e.say(t, "b", "fact: peanuts can kill")
		e.extract(t, "b")
		e.wantValid(t, tt.want...)
	}
}

// TestPromiseOfAnEditedMessage edits the message of a promise. The promise of the old message is no open loop of which
// the model knows, and so it notes that of the new one.
func TestPromiseOfAnEditedMessage(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.say(t, "a", "I'll buy a pen")
	e.model = script(`{"facts":[],"ended":[],"openLoops":[{"content":"Buy a pen","confidence":0.9,"messageIds":["m1"]}],` +
		`"closedLoops":[]}`)
	e.extract(t, "a")
	_, _, err := e.stores.Deletion.Truncate(t.Context(), e.user, conversation.Truncation{
		SessionID: "a", AfterSeq: new(int),
		Replacement: []conversation.NewMessage{{Role: conversation.RoleUser, Content: "I'll buy a pen today"}},
	}, indexing.MessageVectorIDs, e.clock())
	check.OK(t, err)
	e.model = e
	e.extract(t, "a")
	check.Lacks(t, e.inputs[len(e.inputs)-1], "Buy a pen", "the model reads")
}
