package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/memory"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

// fake is a store with one session, and an index. Each of its calls can be made to fail.
type fake struct {
	mu      sync.Mutex
	session conversation.Session
	deleted map[int]bool
	indexed map[string]bool
	records map[string]recall.Hit
	fail    func(op string) error
}

func newFake(messages int) *fake {
	return &fake{
		session: conversation.Session{ID: "s", Context: "workout_log", LastSeq: messages, Generation: 1},
		deleted: map[int]bool{}, indexed: map[string]bool{}, records: map[string]recall.Hit{},
		fail: func(string) error { return nil },
	}
}

func (f *fake) SessionIn(context.Context, conversation.UserID, string, string) (conversation.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.session, f.fail("session")
}

func (f *fake) MessagesAfter(
	_ context.Context, _ conversation.UserID, _ conversation.Session, after conversation.Watermark,
	limit int,
) ([]conversation.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []conversation.Message
	for seq := after.Seq + 1; seq <= f.session.LastSeq && len(out) < limit; seq++ {
		if !f.deleted[seq] {
			out = append(out, message(seq))
		}
	}
	return out, f.fail("messages")
}

func (f *fake) MarkIndexed(_ context.Context, _ conversation.UserID, ref memory.SessionRef, from int,
	through conversation.Watermark,
) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail("mark"); err != nil {
		return err
	}
	if ref.Generation != f.session.Generation {
		return fault.Missing("session")
	}
	if f.session.Indexed.Seq != from-1 {
		return fault.New(fault.Conflict, "the watermark has another value")
	}
	if at := message(through.Seq).Timestamp; !f.deleted[through.Seq] && !through.At.Equal(at) {
		return fmt.Errorf("message %d is of %v, and the watermark has %v", through.Seq, at, through.At)
	}
	f.session.Indexed = through
	return nil
}

func (f *fake) IndexBatches(_ context.Context, batches []recall.Batch) []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := make([]error, len(batches))
	for i, b := range batches {
		if errs[i] = f.fail("index"); errs[i] != nil {
			continue
		}
		for _, m := range b.Messages {
			f.indexed[m.ID] = true
		}
	}
	return errs
}

func (f *fake) Resolve(_ context.Context, _ conversation.UserID, _ int64, ids []string) ([]recall.Hit, error) {
	if err := f.fail("resolve"); err != nil {
		return nil, err
	}
	if hit, ok := f.records[ids[0]]; ok {
		return []recall.Hit{hit}, nil
	}
	return nil, nil
}

func (f *fake) IndexMemory(_ context.Context, _ conversation.UserID, _ int64, m longterm.Memory) error {
	f.indexed[m.ID] = true
	return nil
}

func (f *fake) IndexCheckIn(_ context.Context, _ conversation.UserID, _ int64, c longterm.CheckIn) error {
	f.indexed[c.ID] = true
	return nil
}

func (f *fake) Delete(_ context.Context, _ conversation.UserID, _ int64, ids []string) error {
	for _, id := range ids {
		delete(f.indexed, id)
	}
	return nil
}

// message is a question where its seq is odd, and an answer where it is even.
func message(seq int) conversation.Message {
	role := conversation.Assistant
	if seq%2 == 1 {
		role = conversation.User
	}
	return conversation.Message{
		ID: fmt.Sprint("m", seq), Seq: seq, Role: role, SessionID: "s", Context: "workout_log", Generation: 1,
		Timestamp: time.Unix(int64(seq), 0),
	}
}

func change(seq int) conversation.Change {
	m := message(seq)
	return conversation.Change{User: "ann", Sequence: fmt.Sprint(seq), Message: &m}
}

// TestEverythingIsIndexedInTheEnd delivers the messages of a session in any order, doubled, in batches of any size,
// with failing calls and lost records. The watermark never covers a message that is not indexed. After a repair every
// message is indexed and the watermark says so.
func TestEverythingIsIndexedInTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFake(rapid.IntRange(1, 30).Draw(t, "messages"))
		for _, seq := range rapid.SliceOfN(rapid.IntRange(1, f.session.LastSeq), 0, 3).Draw(t, "deleted") {
			f.deleted[seq] = true
		}
		deliveries := rapid.SliceOfN(rapid.IntRange(1, f.session.LastSeq), 0, 60).Draw(t, "deliveries")
		faults := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "faults"), 0))
		f.fail = func(string) error {
			if faults.IntN(5) == 0 {
				return errors.New("down")
			}
			return nil
		}
		service := memory.New(f, f)
		for len(deliveries) > 0 {
			size := rapid.IntRange(1, len(deliveries)).Draw(t, "batch")
			var changes []conversation.Change
			for _, seq := range deliveries[:size] {
				if !f.deleted[seq] {
					changes = append(changes, change(seq))
				}
			}
			deliveries = deliveries[size:]
			done, err := service.Consume(t.Context(), changes)
			if err == nil && done != len(changes) {
				t.Fatalf("%d of %d changes done without an error", done, len(changes))
			}
			f.check(t, f.session.Indexed.Seq)
		}
		f.fail = func(string) error { return nil }
		if err := service.Repair(t.Context(), "ann", f.session); err != nil {
			t.Fatal(err)
		}
		if f.session.Indexed.Seq != f.session.LastSeq {
			t.Fatalf("the watermark is %d of %d", f.session.Indexed.Seq, f.session.LastSeq)
		}
		f.check(t, f.session.LastSeq)
	})
}

// check fails unless everything through the watermark is in the index.
func (f *fake) check(t *rapid.T, through int) {
	for seq := 1; seq <= through; seq++ {
		if !f.deleted[seq] && !f.indexed[fmt.Sprint("m", seq)] {
			t.Fatalf("message %d is not in the index, but the watermark is %d", seq, through)
		}
	}
}

// TestOneUserWithoutRoomHoldsNobodyUp has a batch of two users, and an index whose plan refuses the vectors of one.
func TestOneUserWithoutRoomHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	f := newFake(2)
	f.records["memory_1"] = recall.Hit{Memory: &longterm.Memory{ID: "memory_1"}}
	refused := fault.Wrap(fault.Unavailable, "upsert vectors", fmt.Errorf("refused: %w", vector.ErrQuota))
	index := refusing{f, "bob", refused}
	bobs, bobsMemory := change(1), conversation.Change{User: "bob", Generation: 1, RecordID: "memory_0"}
	bobs.User = "bob"
	annsMemory := conversation.Change{User: "ann", Generation: 1, RecordID: "memory_1"}
	f.records["memory_0"] = recall.Hit{Memory: &longterm.Memory{ID: "memory_0"}}
	changes := []conversation.Change{bobsMemory, bobs, change(1), annsMemory, change(2)}
	if done, err := memory.New(f, index).Consume(t.Context(), changes); done != len(changes) || err != nil {
		t.Errorf("%d of %d changes are done: %v", done, len(changes), err)
	}
	if diff := cmp.Diff(map[string]bool{"m1": true, "m2": true, "memory_1": true}, f.indexed); diff != "" {
		t.Errorf("indexed (-want +got)\n%s", diff)
	}
	if f.session.Indexed.Seq != 2 { // the fake has one session, which is Ann's: Bob's must not be marked
		t.Errorf("the watermark is %d, want 2", f.session.Indexed.Seq)
	}
	index.err = errors.New("down")
	if done, err := memory.New(f, index).Consume(t.Context(), changes); done != 0 || err == nil {
		t.Errorf("a fault is delivered again: %d, %v", done, err)
	}
}

// refusing is an index that refuses the vectors of one user.
type refusing struct {
	*fake
	user conversation.UserID
	err  error
}

func (r refusing) IndexBatches(ctx context.Context, batches []recall.Batch) []error {
	errs := make([]error, len(batches))
	for i, b := range batches {
		if errs[i] = r.err; b.User != r.user {
			errs[i] = r.fake.IndexBatches(ctx, []recall.Batch{b})[0]
		}
	}
	return errs
}

func (r refusing) IndexMemory(
	ctx context.Context, user conversation.UserID, generation int64, m longterm.Memory,
) error {
	if user == r.user {
		return r.err
	}
	return r.fake.IndexMemory(ctx, user, generation, m)
}

// TestOneCallForAWarmBatch counts the calls of the ordinary case.
func TestOneCallForAWarmBatch(t *testing.T) {
	t.Parallel()
	f := newFake(2)
	calls := map[string]int{}
	f.fail = func(op string) error { calls[op]++; return nil }
	done, err := memory.New(f, f).Consume(t.Context(), []conversation.Change{change(1), change(2)})
	if done != 2 || err != nil {
		t.Fatalf("got %d, %v", done, err)
	}
	if calls["index"] != 1 || calls["mark"] != 1 || calls["session"]+calls["messages"] != 0 {
		t.Errorf("calls %v, want one to index and one to mark", calls)
	}
}

// TestAQuestionIsMarkedWithItsAnswer checks the watermark when question and answer arrive in different batches, and
// when questions get no answer.
func TestAQuestionIsMarkedWithItsAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		batches [][]int
		marked  []int
	}{
		"two turns":                {[][]int{{1}, {2}, {3}, {4}}, []int{0, 2, 2, 4}},
		"in one batch":             {[][]int{{1, 2}, {3, 4}}, []int{2, 4}},
		"a question arrives twice": {[][]int{{1}, {1}, {2}}, []int{0, 0, 2}},
		"no answers":               {[][]int{{1}, {2}, {3}, {4}}, []int{0, 2, 2, 4}},
		"an earlier turn again":    {[][]int{{1}, {2}, {1}, {2}, {3}, {4}}, []int{0, 2, 2, 2, 2, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(8)
			service := memory.New(f, f)
			for i, batch := range tt.batches {
				var changes []conversation.Change
				for _, seq := range batch {
					c := change(seq)
					if name == "no answers" {
						c.Message.Role = conversation.User
					}
					changes = append(changes, c)
				}
				if done, err := service.Consume(t.Context(), changes); err != nil || done != len(changes) {
					t.Fatalf("batch %d: %d done, %v", i, done, err)
				}
				if f.session.Indexed.Seq != tt.marked[i] {
					t.Errorf("after batch %d the watermark is %d, want %d", i, f.session.Indexed.Seq, tt.marked[i])
				}
			}
		})
	}
}

// TestEarlierGenerationsAreIgnored delivers a message of an earlier generation.
func TestEarlierGenerationsAreIgnored(t *testing.T) {
	t.Parallel()
	f := newFake(1)
	f.session.Generation = 2
	if done, err := memory.New(f, f).Consume(t.Context(), []conversation.Change{change(1)}); done != 1 || err != nil {
		t.Fatalf("got %d, %v", done, err)
	}
	if f.session.Indexed.Seq != 0 {
		t.Error("the new session's watermark moved")
	}
}

// TestAFailureIsDeliveredAgain has the second of two sessions fail.
func TestAFailureIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	f := newFake(3)
	other := message(1)
	other.SessionID, other.Generation = "t", 9
	changes := []conversation.Change{{User: "bob", Message: &other}, change(1), change(2)}
	f.fail = func(op string) error {
		if op == "session" {
			return errors.New("down")
		}
		return nil
	}
	f.session.Indexed.Seq = 2 // so that marking conflicts and the session is read
	if done, err := memory.New(f, f).Consume(t.Context(), changes); done != 1 || err == nil {
		t.Errorf("got %d, %v, want the second change to be delivered again", done, err)
	}
}

// TestVectorsFollowTheTable delivers changes of memories and check-ins late, doubled and in any order. The index ends
// up with the records of the table.
func TestVectorsFollowTheTable(t *testing.T) {
	t.Parallel()
	f := newFake(0)
	f.records["mem_1"] = recall.Hit{Memory: &longterm.Memory{ID: "mem_1"}}
	f.records["chk_1"] = recall.Hit{CheckIn: &longterm.CheckIn{ID: "chk_1", Note: "slept well"}}
	f.records["chk_2"] = recall.Hit{CheckIn: &longterm.CheckIn{ID: "chk_2"}}
	f.indexed["mem_gone"], f.indexed["chk_2"] = true, true
	var changes []conversation.Change
	for _, id := range []string{"mem_gone", "mem_1", "chk_1", "mem_1", "chk_2", "mem_gone"} {
		changes = append(changes, conversation.Change{User: "ann", RecordID: id})
	}
	service := memory.New(f, f)
	if done, err := service.Consume(t.Context(), changes); done != len(changes) || err != nil {
		t.Fatalf("got %d, %v", done, err)
	}
	if diff := cmp.Diff(map[string]bool{"mem_1": true, "chk_1": true}, f.indexed); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
	f.fail = func(string) error { return errors.New("down") }
	changes = append([]conversation.Change{{User: "ann"}}, changes...)
	if done, err := service.Consume(t.Context(), changes); done != 1 || err == nil {
		t.Errorf("got %d, %v, want the second change to be delivered again", done, err)
	}
}
