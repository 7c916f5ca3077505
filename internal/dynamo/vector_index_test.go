package dynamo_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
	"github.com/throughline/throughline/internal/vector"
)

// TestOneIndexForAUser assigns indexes from several processes at once. All of them go on with the same one.
func TestOneIndexForAUser(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	answers := make([]string, 4)
	var processes sync.WaitGroup
	for i := range answers {
		processes.Go(func() {
			d := dynamo.NewIndexDirectory(dynamo.New(dynamodbtest.Client(t), table))
			if p, err := d.Locate(t.Context(), alice); err != nil || p.Generation != 0 {
				t.Errorf("%+v, %v", p, err)
			}
			p, err := d.AssignIndex(t.Context(), alice, fmt.Sprint("index", i))
			if err != nil {
				t.Error(err)
			}
			answers[i] = p.Serving
		})
	}
	processes.Wait()
	p, err := dynamo.NewIndexDirectory(dynamo.New(dynamodbtest.Client(t), table)).Locate(t.Context(), alice)
	want := []string{p.Serving, p.Serving, p.Serving, p.Serving}
	if diff := cmp.Diff(want, answers); diff != "" || err != nil || p.Serving == "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestPlace moves a user. A move is refused for a user who is placed otherwise, is erased, or has a sweep under way.
func TestPlace(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	client := dynamodbtest.Client(t)
	db := dynamo.New(client, table, dynamotest.FixedClock())
	s := dynamotest.StoresOf(db)
	store := dynamo.NewReindexStore(db, client)
	none, begun := vector.Location{}, vector.Location{Serving: "first", Target: "b"}
	ended := vector.Location{Serving: "b", Retired: "first"}
	place := func(from, to vector.Location, isAllowed bool) {
		t.Helper()
		err := store.Place(t.Context(), alice, from, to, start.Add(time.Minute))
		if isAllowed && err != nil || !isAllowed && !fault.Is(err, fault.Conflict) {
			t.Errorf("from %+v to %+v: %v, allowed: %v", from, to, err, isAllowed)
		}
	}
	wantLocation := func(want vector.Location) {
		t.Helper()
		got, err := store.Locate(t.Context(), alice)
		if want.Generation = got.Generation; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("placement (-want +got)\n%s", diff)
		}
	}
	due := func() *sweep.Due {
		t.Helper()
		for _, shard := range sweep.Deletions.Shards() {
			found, err := s.Due.Due(t.Context(), shard, start.Add(time.Hour), nil, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range found {
				return &d
			}
		}
		return nil
	}
	place(begun, ended, false) // not begun
	place(none, begun, true)
	place(none, begun, false)
	if err := store.SaveProgress(t.Context(), alice, "b", "ltm#memory#1"); err != nil {
		t.Fatal(err)
	}
	if err := store.SaveProgress(t.Context(), alice, "c", "ltm#memory#2"); err != nil {
		t.Fatal(err)
	}
	through := begun
	through.ReindexedThrough = "ltm#memory#1"
	wantLocation(through)
	if d := due(); d != nil {
		t.Errorf("a user is due during a move: %+v", d)
	}

	erasure, _, err := s.Erasures.BeginErasure(t.Context(), alice, start.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	place(begun, ended, false) // is being erased
	erasure.Done = true
	if err := s.Erasures.SaveErasure(t.Context(), alice, erasure, start); err != nil {
		t.Fatal(err)
	}
	claim, ok, err := s.Due.Claim(t.Context(), *due(), start.Add(time.Minute))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	place(begun, ended, false) // a sweep deletes vectors
	if err := s.Due.Postpone(t.Context(), claim, start, true); err != nil {
		t.Fatal(err)
	}
	place(begun, ended, true)
	wantLocation(ended)

	tombstone, err := s.Tombstones.Tombstone(t.Context(), *due())
	if err != nil || tombstone.RetiredIndex != "first" || !tombstone.Namespace || tombstone.Sweeps != 0 {
		t.Errorf("tombstone %+v, %v", tombstone, err)
	}
	back := vector.Location{Serving: "b", Target: "first"}
	place(ended, back, true)
	wantLocation(back)
	place(back, vector.Location{Serving: "first", Retired: "b"}, true)
	// The sweep that found the first index retired says nothing of the new one.
	if err := s.Tombstones.DeleteTombstone(t.Context(), tombstone); err != nil {
		t.Fatal(err)
	}
	if tombstone, err = s.Tombstones.Tombstone(t.Context(), *due()); err != nil || tombstone.RetiredIndex != "b" {
		t.Fatalf("tombstone %+v, %v", tombstone, err)
	}
	if err := s.Tombstones.DeleteTombstone(t.Context(), tombstone); err != nil {
		t.Fatal(err)
	}
	wantLocation(vector.Location{Serving: "first"})
}

// TestAnIndexStaysWithItsUser writes and erases around the record of the index.
func TestAnIndexStaysWithItsUser(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	s := dynamotest.Open(t, table, dynamotest.FixedClock())
	d := dynamo.NewIndexDirectory(dynamo.New(dynamodbtest.Client(t), table))
	if _, err := d.AssignIndex(t.Context(), alice, "b"); err != nil {
		t.Fatal(err)
	}
	create := func(id string) {
		t.Helper()
		in := conversation.NewSession{ID: id, Context: "coach_conversation", CoachID: "c"}
		if _, err := s.Sessions.CreateSession(t.Context(), alice, in, noKey); err != nil {
			t.Fatal(err)
		}
	}
	access := func(generation int64) {
		t.Helper()
		want := longterm.Access{Preferences: longterm.DefaultPreferences(), Generation: generation, Index: "b"}
		got, err := s.Recall.Access(t.Context(), alice)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("access: %v (-want +got)\n%s", err, diff)
		}
		_, opened, err := s.PromptSource.Open(t.Context(), alice, "coach_conversation", fmt.Sprint("s", generation))
		if diff := cmp.Diff(want, opened); diff != "" || err != nil {
			t.Errorf("opened: %v (-want +got)\n%s", err, diff)
		}
	}
	create("s0")
	access(0)
	p, _, err := s.Erasures.BeginErasure(t.Context(), alice, start.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	done, err := s.Erasures.EraseRecords(t.Context(), alice, p.Generation, start.Add(time.Minute),
		func(string, int) {})
	if !done || err != nil {
		t.Fatalf("erased: %v, %v", done, err)
	}
	p.Done = true
	if err := s.Erasures.SaveErasure(t.Context(), alice, p, start); err != nil {
		t.Fatal(err)
	}
	create("s1")
	access(1)
}
