package indexing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

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
	if done, err := indexing.New(f, index, time.Now).Consume(t.Context(), changes); done != len(changes) || err != nil {
		t.Errorf("%d of %d changes are done: %v", done, len(changes), err)
	}
	check.Same(t, map[string]bool{"m1": true, "m2": true, "memory_1": true}, f.indexed, "indexed")
	if f.session.Indexed.Seq != 2 { // the fake has one session, which is Ann's: Bob's must not be marked
		t.Errorf("the watermark is %d, want 2", f.session.Indexed.Seq)
	}
	index.err = errors.New("down")
	if done, err := indexing.New(f, index, time.Now).Consume(t.Context(), changes); done != 0 || err == nil {
		t.Errorf("a fault is delivered again: %d, %v", done, err)
	}
}

// TestAnOutageIsLeftToTheSweep has an index that is down. Messages are delivered again for a while, because it may be
// back at once. A record that is due goes to the sweep, and one that was deleted is due no more.
func TestAnOutageIsLeftToTheSweep(t *testing.T) {
	t.Parallel()
	said := change(2).Message.Timestamp
	memory := conversation.Change{User: "bob", Generation: 1, RecordID: "memory_1", Version: 1}
	deleted := conversation.Change{User: "bob", Generation: 1, RecordID: "memory_2"}
	const wrongKey fault.Code = "wrong key"
	for name, tt := range map[string]struct {
		code    fault.Code
		changes []conversation.Change
		after   time.Duration
		want    int
	}{
		"just now":             {fault.Unavailable, []conversation.Change{change(1), change(2)}, 5 * time.Second, 0},
		"down for long":        {fault.Unavailable, []conversation.Change{change(1), change(2)}, 7 * time.Second, 2},
		"at its limits":        {fault.RateLimited, []conversation.Change{change(2)}, 7 * time.Second, 1},
		"no outage":            {fault.Internal, []conversation.Change{change(2)}, time.Hour, 0},
		"a memory":             {fault.Unavailable, []conversation.Change{memory}, 0, 1},
		"a wrong key":          {wrongKey, []conversation.Change{change(2)}, 7 * time.Second, 1},
		"a memory that is bad": {fault.Internal, []conversation.Change{memory}, 0, 0},
		"a deleted memory":     {fault.Unavailable, []conversation.Change{memory, deleted}, time.Hour, 1},
	} {
		f := newFake(2)
		f.records["memory_1"] = recall.Hit{Memory: &longterm.Memory{ID: "memory_1"}}
		index := refusing{f, "ann", fault.New(tt.code, "down")}
		if tt.code == wrongKey {
			index.err = fault.Wrap(fault.Internal, "upsert vectors", fault.ErrSetup)
		}
		if tt.changes[0].User == "bob" {
			index.user = "bob"
		}
		service := indexing.New(f, index, func() time.Time { return said.Add(tt.after) })
		done, err := service.Consume(t.Context(), tt.changes)
		if done != tt.want || (err == nil) != (done == len(tt.changes)) || f.session.Indexed.Seq != 0 {
			t.Errorf("%s: %d changes are done, want %d; watermark %d: %v", name, done, tt.want, f.session.Indexed.Seq, err)
		}
	}
}

// refusing is an index that refuses the vectors of one user.
type refusing struct {
	*fake
	user conversation.UserID
	err  error
}

func (r refusing) IndexBatches(ctx context.Context, batches []indexing.Batch) []error {
	errs := make([]error, len(batches))
	for i, b := range batches {
		if errs[i] = r.err; b.User != r.user {
			errs[i] = r.fake.IndexBatches(ctx, []indexing.Batch{b})[0]
		}
	}
	return errs
}

func (r refusing) IndexHits(
	ctx context.Context, user conversation.UserID, generation int64, hits []recall.Hit,
) error {
	if user == r.user {
		return r.err
	}
	return r.fake.IndexHits(ctx, user, generation, hits)
}

func (r refusing) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	if user == r.user {
		return r.err
	}
	return r.fake.Delete(ctx, user, generation, ids)
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
	service := indexing.New(f, f, time.Now)
	if done, err := service.Consume(t.Context(), changes); done != len(changes) || err != nil {
		t.Fatalf("got %d, %v", done, err)
	}
	check.Same(t, map[string]bool{"mem_1": true, "chk_1": true}, f.indexed, "index")
	f.fail = func(string) error { return errors.New("down") }
	changes = append([]conversation.Change{{User: "ann"}}, changes...)
	if done, err := service.Consume(t.Context(), changes); done != 1 || err == nil {
		t.Errorf("got %d, %v, want the second change to be delivered again", done, err)
	}
}

// TestRecordsLeaveTheDueIndex checks which changes of records mark a version as indexed, and what the sweep does with a
// record whose change was lost.
func TestRecordsLeaveTheDueIndex(t *testing.T) {
	t.Parallel()
	f := newFake(0)
	service := indexing.New(f, f, time.Now)
	const kept, deleted, refused = "memory_1", "memory_2", "check_in_3"
	f.records[kept] = recall.Hit{Memory: &longterm.Memory{ID: kept}}
	f.records[refused] = recall.Hit{CheckIn: &longterm.CheckIn{ID: refused, Note: "x"}}
	f.indexed[deleted] = true
	at := func(id string, version int64, past bool) conversation.Change {
		return conversation.Change{User: "ann", Generation: 1, RecordID: id, Version: version, Past: past}
	}
	changes := []conversation.Change{at(kept, 0, false), at(deleted, 0, false), at(kept, 2, false), at(kept, 3, true)}
	if done, err := service.Consume(t.Context(), changes); done != len(changes) || err != nil {
		t.Fatalf("%d done, %v", done, err)
	}
	want := []indexing.RecordRef{
		{ID: kept, Generation: 1, Version: 2}, {ID: kept, Generation: 1, Version: 3, Past: true},
	}
	check.Same(t, want, f.marked, "marked")
	if !f.indexed[kept] || f.indexed[deleted] {
		t.Errorf("indexed are %v", f.indexed)
	}
	claim := sweep.Claim{Due: sweep.Due{User: "ann", ID: refused}}
	if out, err := service.Visit(t.Context(), claim); out != sweep.Removed || err != nil || !f.indexed[refused] {
		t.Errorf("the sweep: %+v, %v, indexed %v", out, err, f.indexed)
	}
	for op, want := range map[string]error{
		"record due": fault.Missing("record"), "resolve": fault.New(fault.Internal, "x"),
	} {
		f.fail = func(called string) error {
			if called == op {
				return want
			}
			return nil
		}
		out, err := service.Visit(t.Context(), claim)
		if fault.Is(want, fault.NotFound) && (out != sweep.Removed || err != nil) {
			t.Errorf("a record that is gone: %+v, %v", out, err)
		}
		if !fault.Is(want, fault.NotFound) && err == nil {
			t.Error("a visit that failed has no error")
		}
	}
}

// TestRecordsAreRefreshedSideBySide has a batch of 32 memories, each of which takes the table a second. A batch of a
// shard waits for the one before it, so its records must not wait for each other. Two fail, and the batch is delivered
// again from the first of them.
func TestRecordsAreRefreshedSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		var changes []conversation.Change
		for n := range 32 {
			changes = append(changes, conversation.Change{User: "ann", RecordID: fmt.Sprint("mem_", n)})
		}
		f.fail = func(op string) error {
			if op == "resolve" {
				time.Sleep(time.Second)
			}
			return nil
		}
		began := time.Now()
		if done, err := indexing.New(f, f, time.Now).Consume(t.Context(), changes); done != len(changes) || err != nil {
			t.Fatalf("%d done, %v", done, err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the batch took %v", took)
		}
		index := failing{f, map[string]bool{"mem_9": true, "mem_20": true}}
		if done, err := indexing.New(f, index, time.Now).Consume(t.Context(), changes); done != 9 || err == nil {
			t.Errorf("%d done, %v, want the tenth change to be delivered again", done, err)
		}
	})
}

// failing is an index that fails to delete some vectors.
type failing struct {
	*fake
	ids map[string]bool
}

func (x failing) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	if x.ids[ids[0]] {
		return errors.New("down")
	}
	return x.fake.Delete(ctx, user, generation, ids)
}
