package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/memory"
	"github.com/throughline/throughline/internal/recall"
)

// world is a session with its messages and an index, where calls can be made to fail.
type world struct {
	mu      sync.Mutex
	session conversation.Session
	deleted map[int]bool
	indexed map[string]bool
	records map[string]recall.Hit
	fail    func(op string) error
}

func newWorld(messages int) *world {
	return &world{
		session: conversation.Session{ID: "s", Context: "workout_log", LastSeq: messages, Generation: 1},
		deleted: map[int]bool{}, indexed: map[string]bool{}, records: map[string]recall.Hit{}, fail: func(string) error { return nil },
	}
}

func (w *world) SessionIn(context.Context, conversation.UserID, string, string) (conversation.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session, w.fail("session")
}

func (w *world) MessagesAfter(_ context.Context, _ conversation.UserID, _ conversation.Session, after, limit int) ([]conversation.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []conversation.Message
	for seq := after + 1; seq <= w.session.LastSeq && len(out) < limit; seq++ {
		if !w.deleted[seq] {
			out = append(out, message(seq))
		}
	}
	return out, w.fail("messages")
}

func (w *world) MarkIndexed(_ context.Context, _ conversation.UserID, ref memory.SessionRef, from, through int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fail("mark"); err != nil {
		return err
	}
	if ref.Generation != w.session.Generation {
		return fault.Missing("session")
	}
	if w.session.IndexedSeq != from-1 {
		return fault.New(fault.Conflict, "the watermark stands elsewhere")
	}
	w.session.IndexedSeq = through
	return nil
}

func (w *world) IndexBatches(_ context.Context, batches []recall.Batch) []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	errs := make([]error, len(batches))
	for i, b := range batches {
		if errs[i] = w.fail("index"); errs[i] != nil {
			continue
		}
		for _, m := range b.Messages {
			w.indexed[m.ID] = true
		}
	}
	return errs
}

func (w *world) Resolve(_ context.Context, _ conversation.UserID, _ int64, ids []string) ([]recall.Hit, error) {
	if err := w.fail("resolve"); err != nil {
		return nil, err
	}
	if hit, ok := w.records[ids[0]]; ok {
		return []recall.Hit{hit}, nil
	}
	return nil, nil
}

func (w *world) IndexMemory(_ context.Context, _ conversation.UserID, _ int64, m longterm.Memory) error {
	w.indexed[m.ID] = true
	return nil
}

func (w *world) IndexCheckIn(_ context.Context, _ conversation.UserID, _ int64, c longterm.CheckIn) error {
	w.indexed[c.ID] = true
	return nil
}

func (w *world) Forget(_ context.Context, _ conversation.UserID, _ int64, ids []string) error {
	for _, id := range ids {
		delete(w.indexed, id)
	}
	return nil
}

// message is a question where its seq is odd, and an answer where it is even.
func message(seq int) conversation.Message {
	role := conversation.Assistant
	if seq%2 == 1 {
		role = conversation.User
	}
	return conversation.Message{ID: fmt.Sprint("m", seq), Seq: seq, Role: role, SessionID: "s", Context: "workout_log", Generation: 1}
}

func change(seq int) conversation.Change {
	m := message(seq)
	return conversation.Change{User: "ann", Sequence: fmt.Sprint(seq), Message: &m}
}

// TestWhateverTheStreamDoesEverythingIsIndexed delivers the messages of a session in any order, doubled, in batches of
// any size, with calls failing now and then and records lost: once the faults end and the sweep has passed, every
// message is in the index and the watermark says so, and it never said so before.
func TestWhateverTheStreamDoesEverythingIsIndexed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.IntRange(1, 30).Draw(t, "messages"))
		for _, seq := range rapid.SliceOfN(rapid.IntRange(1, w.session.LastSeq), 0, 3).Draw(t, "deleted") {
			w.deleted[seq] = true
		}
		deliveries := rapid.SliceOfN(rapid.IntRange(1, w.session.LastSeq), 0, 60).Draw(t, "deliveries")
		faults := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "faults"), 0))
		w.fail = func(string) error {
			if faults.IntN(5) == 0 {
				return errors.New("down")
			}
			return nil
		}
		service := memory.New(w, w)
		for len(deliveries) > 0 {
			size := rapid.IntRange(1, len(deliveries)).Draw(t, "batch")
			var changes []conversation.Change
			for _, seq := range deliveries[:size] {
				if !w.deleted[seq] {
					changes = append(changes, change(seq))
				}
			}
			deliveries = deliveries[size:]
			done, err := service.Consume(t.Context(), changes)
			if err == nil && done != len(changes) {
				t.Fatalf("%d of %d changes done without an error", done, len(changes))
			}
			w.check(t, w.session.IndexedSeq)
		}
		w.fail = func(string) error { return nil }
		if err := service.Repair(t.Context(), "ann", w.session); err != nil {
			t.Fatal(err)
		}
		if w.session.IndexedSeq != w.session.LastSeq {
			t.Fatalf("the watermark stands at %d of %d", w.session.IndexedSeq, w.session.LastSeq)
		}
		w.check(t, w.session.LastSeq)
	})
}

// check fails unless everything through the watermark is in the index.
func (w *world) check(t *rapid.T, through int) {
	for seq := 1; seq <= through; seq++ {
		if !w.deleted[seq] && !w.indexed[fmt.Sprint("m", seq)] {
			t.Fatalf("message %d is not in the index, but the watermark stands at %d", seq, through)
		}
	}
}

// TestOneCallForAWarmBatch counts what the ordinary case costs.
func TestOneCallForAWarmBatch(t *testing.T) {
	w := newWorld(2)
	calls := map[string]int{}
	w.fail = func(op string) error { calls[op]++; return nil }
	if done, err := memory.New(w, w).Consume(t.Context(), []conversation.Change{change(1), change(2)}); done != 2 || err != nil {
		t.Fatalf("got %d, %v", done, err)
	}
	if calls["index"] != 1 || calls["mark"] != 1 || calls["session"]+calls["messages"] != 0 {
		t.Errorf("calls %v, want one to index and one to mark", calls)
	}
}

// TestAQuestionIsMarkedWithItsAnswer counts the marks of turns whose question and answer come apart, and of questions
// that nobody answers.
func TestAQuestionIsMarkedWithItsAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		batches [][]int
		marked  []int
	}{
		"two turns":             {[][]int{{1}, {2}, {3}, {4}}, []int{0, 2, 2, 4}},
		"in one batch":          {[][]int{{1, 2}, {3, 4}}, []int{2, 4}},
		"a question came twice": {[][]int{{1}, {1}, {2}}, []int{0, 0, 2}},
		"nobody answers":        {[][]int{{1}, {2}, {3}, {4}}, []int{0, 2, 2, 4}},
		"the turn before again": {[][]int{{1}, {2}, {1}, {2}, {3}, {4}}, []int{0, 2, 2, 2, 2, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(8)
			service := memory.New(w, w)
			for i, batch := range tt.batches {
				var changes []conversation.Change
				for _, seq := range batch {
					c := change(seq)
					if name == "nobody answers" {
						c.Message.Role = conversation.User
					}
					changes = append(changes, c)
				}
				if done, err := service.Consume(t.Context(), changes); err != nil || done != len(changes) {
					t.Fatalf("batch %d: %d done, %v", i, done, err)
				}
				if w.session.IndexedSeq != tt.marked[i] {
					t.Errorf("after batch %d the watermark stands at %d, want %d", i, w.session.IndexedSeq, tt.marked[i])
				}
			}
		})
	}
}

// TestWhatIsErasedIsLeftAlone delivers a message of an earlier generation.
func TestWhatIsErasedIsLeftAlone(t *testing.T) {
	w := newWorld(1)
	w.session.Generation = 2
	if done, err := memory.New(w, w).Consume(t.Context(), []conversation.Change{change(1)}); done != 1 || err != nil {
		t.Fatalf("got %d, %v", done, err)
	}
	if w.session.IndexedSeq != 0 {
		t.Error("the new session's watermark moved")
	}
}

// TestAFailureComesAgainFromItsFirstChange has the second of two sessions fail.
func TestAFailureComesAgainFromItsFirstChange(t *testing.T) {
	w := newWorld(3)
	other := message(1)
	other.SessionID, other.Generation = "t", 9
	changes := []conversation.Change{{User: "bob", Message: &other}, change(1), change(2)}
	w.fail = func(op string) error {
		if op == "session" {
			return errors.New("down")
		}
		return nil
	}
	w.session.IndexedSeq = 2 // so that marking conflicts and the session is read
	if done, err := memory.New(w, w).Consume(t.Context(), changes); done != 1 || err == nil {
		t.Errorf("got %d, %v, want the second change to come again", done, err)
	}
}

// TestVectorsFollowTheTable delivers the changes of memories and check-ins late, doubled and in any order: the index
// holds what the table holds.
func TestVectorsFollowTheTable(t *testing.T) {
	w := newWorld(0)
	w.records["mem_1"] = recall.Hit{Memory: &longterm.Memory{ID: "mem_1"}}
	w.records["chk_1"] = recall.Hit{CheckIn: &longterm.CheckIn{ID: "chk_1", Note: "slept well"}}
	w.records["chk_2"] = recall.Hit{CheckIn: &longterm.CheckIn{ID: "chk_2"}}
	w.indexed["mem_gone"], w.indexed["chk_2"] = true, true
	var changes []conversation.Change
	for _, id := range []string{"mem_gone", "mem_1", "chk_1", "mem_1", "chk_2", "mem_gone"} {
		changes = append(changes, conversation.Change{User: "ann", RecordID: id})
	}
	service := memory.New(w, w)
	if done, err := service.Consume(t.Context(), changes); done != len(changes) || err != nil {
		t.Fatalf("got %d, %v", done, err)
	}
	if diff := cmp.Diff(map[string]bool{"mem_1": true, "chk_1": true}, w.indexed); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
	w.fail = func(string) error { return errors.New("down") }
	if done, err := service.Consume(t.Context(), append([]conversation.Change{{User: "ann"}}, changes...)); done != 1 || err == nil {
		t.Errorf("got %d, %v, want the second change to come again", done, err)
	}
}
