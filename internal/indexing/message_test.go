package indexing_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestEverythingIsIndexedInTheEnd delivers the messages of a session in any order, doubled, to any of three instances,
// in batches of any size, with failing calls and lost records. The watermark never covers a message that is not
// indexed. After a repair every message is indexed, together with the end of what it answers, and the watermark says
// so.
func TestEverythingIsIndexedInTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFake(rapid.IntRange(1, 30).Draw(t, "messages"))
		f.draw(t)
		deliveries := rapid.SliceOfN(rapid.IntRange(1, f.session.LastSeq), 0, 60).Draw(t, "deliveries")
		faults := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "faults"), 0))
		f.fail = func(string) error {
			if faults.IntN(5) == 0 {
				return errors.New("down")
			}
			return nil
		}
		instances := make([]*indexing.Service, 3)
		for i := range instances {
			instances[i] = indexing.New(f, f, time.Now)
		}
		for len(deliveries) > 0 {
			size := rapid.IntRange(1, len(deliveries)).Draw(t, "batch")
			var changes []conversation.Change
			for _, seq := range deliveries[:size] {
				if !f.deleted[seq] {
					changes = append(changes, f.change(seq))
				}
			}
			deliveries = deliveries[size:]
			done, err := rapid.SampledFrom(instances).Draw(t, "instance").Consume(t.Context(), changes)
			if err == nil && done != len(changes) {
				t.Fatalf("%d of %d changes done without an error", done, len(changes))
			}
			f.check(t, f.session.Indexed.Seq)
		}
		f.fail = func(string) error { return nil }
		check.OK(t, instances[0].Repair(t.Context(), "ann", f.session))
		if f.session.Indexed.Seq != f.session.LastSeq {
			t.Fatalf("the watermark is %d of %d", f.session.Indexed.Seq, f.session.LastSeq)
		}
		f.check(t, f.session.LastSeq)
	})
}

// TestEachMessageIsEmbeddedOnce delivers every record twice, to different instances, in any order.
func TestEachMessageIsEmbeddedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFake(0)
		instances := []*indexing.Service{indexing.New(f, f, time.Now), indexing.New(f, f, time.Now)}
		var old []int
		for f.session.LastSeq < 20 {
			f.session.LastSeq += rapid.IntRange(1, 4).Draw(t, "appended")
			f.draw(t)
			fresh := rapid.Permutation(slices.Repeat(until(len(old)+1, f.session.LastSeq), 2)).Draw(t, "order")
			late := rapid.SliceOfN(rapid.SampledFrom(append(old, 1)), 0, 3).Draw(t, "late")
			for _, seq := range slices.Concat(fresh, late) {
				instance := rapid.SampledFrom(instances).Draw(t, "instance")
				if done, err := instance.Consume(t.Context(), []conversation.Change{f.change(seq)}); done != 1 || err != nil {
					t.Fatalf("message %d: %d done, %v", seq, done, err)
				}
			}
			old = until(1, f.session.LastSeq)
			for _, seq := range old {
				isLeft := f.deleted[seq] || f.awaiting[seq] && seq == f.session.LastSeq
				if !isLeft && f.embedded[seq] == 0 {
					t.Fatalf("message %d of %d is not in the index", seq, f.session.LastSeq)
				}
			}
		}
		for seq, n := range f.embedded {
			if n > 1 {
				t.Errorf("message %d was embedded %d times", seq, n)
			}
		}
	})
}

func until(from, to int) (out []int) {
	for seq := from; seq <= to; seq++ {
		out = append(out, seq)
	}
	return out
}

// TestCallsOfATurn counts the calls for a chat's second turn, whose records arrive one by one.
func TestCallsOfATurn(t *testing.T) {
	t.Parallel()
	f := newFake(3)
	f.session.Indexed = conversation.Watermark{Seq: 2, At: message(2).Timestamp}
	f.awaiting[1], f.awaiting[3] = true, true
	calls := map[string]int{}
	f.fail = func(op string) error { calls[op]++; return nil }
	deliver := func(want map[string]int) {
		t.Helper()
		c := f.change(f.session.LastSeq)
		if done, err := indexing.New(f, f, time.Now).Consume(t.Context(), []conversation.Change{c}); done != 1 || err != nil {
			t.Fatalf("%d done, %v", done, err)
		}
		check.Same(t, want, calls, "calls after message %d", f.session.LastSeq)
	}
	deliver(map[string]int{}) // the question waits for its answer
	f.session.LastSeq = 4
	all := map[string]int{"session": 1, "messages": 1, "index": 1, "mark": 1}
	deliver(all)
	if want := map[int]string{3: "text 2", 4: "text 3"}; !maps.Equal(f.previous, want) {
		t.Errorf("indexed after %v, want %v", f.previous, want)
	}
	all["session"]++
	deliver(all) // again
}

// TestAQuestionWithoutAnAnswer is left by the stream's records, also by late ones of other messages, and indexed by the
// sweep.
func TestAQuestionWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFake(3)
	f.awaiting[3] = true
	reads := 0
	f.fail = func(op string) error {
		if op == "messages" {
			reads++
		}
		return nil
	}
	service := indexing.New(f, f, time.Now)
	for _, seq := range []int{3, 2, 1} {
		if done, err := service.Consume(t.Context(), []conversation.Change{f.change(seq)}); done != 1 || err != nil {
			t.Fatalf("%d done, %v", done, err)
		}
	}
	if f.indexed["m3"] || f.session.Indexed.Seq != 2 || reads != 1 {
		t.Errorf("indexed %v in %d reads, the watermark is %d, want 2", f.indexed, reads, f.session.Indexed.Seq)
	}
	if err := service.Repair(t.Context(), "ann", f.session); err != nil || !f.indexed["m3"] || f.previous[3] != "text 2" {
		t.Errorf("the sweep indexed %v after %q: %v", f.indexed, f.previous[3], err)
	}
}

// TestEarlierGenerationsAreIgnored delivers a message of an earlier generation.
func TestEarlierGenerationsAreIgnored(t *testing.T) {
	t.Parallel()
	f := newFake(1)
	f.session.Generation = 2
	done, err := indexing.New(f, f, time.Now).Consume(t.Context(), []conversation.Change{change(1)})
	if done != 1 || err != nil {
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
		if op == "messages" {
			return errors.New("down")
		}
		return nil
	}
	if done, err := indexing.New(f, f, time.Now).Consume(t.Context(), changes); done != 1 || err == nil {
		t.Errorf("got %d, %v, want the second change to be delivered again", done, err)
	}
}

// TestLongMessagesTakeRounds has a backlog of more messages, and of more bytes, than one round indexes.
func TestLongMessagesTakeRounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ messages, bytes, rounds int }{
		"short": {250, 10, 4},
		"long":  {10, 300 << 10, 10},
		"huge":  {2, 2 << 20, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(tt.messages)
			f.length = tt.bytes
			rounds := 0
			f.fail = func(op string) error {
				if op == "index" {
					rounds++
				}
				return nil
			}
			check.OK(t, indexing.New(f, f, time.Now).Repair(t.Context(), "ann", f.session))
			if f.session.Indexed.Seq != tt.messages || len(f.indexed) != tt.messages || rounds != tt.rounds {
				t.Errorf("%d of %d messages are indexed in %d rounds, want %d", f.session.Indexed.Seq, tt.messages, rounds,
					tt.rounds)
			}
		})
	}
}

// TestAPanicReachesTheCaller has marking panic in a worker. The handler of the stream recovers and sets the record
// aside.
func TestAPanicReachesTheCaller(t *testing.T) {
	t.Parallel()
	f := newFake(2)
	f.fail = func(op string) error {
		if op == "mark" {
			panic("nil map")
		}
		return nil
	}
	defer func() {
		if recover() == nil {
			t.Error("the panic did not reach the caller")
		}
	}()
	_, _ = indexing.New(f, f, time.Now).Consume(t.Context(), []conversation.Change{change(2)})
}
