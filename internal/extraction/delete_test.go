package extraction_test

import (
	"testing"
	"time"

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
