package vector_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/vectortest"
	"github.com/throughline/throughline/internal/vector"
)

var east = vector.Query{Dense: []float32{1, 0}, TopK: 10}

func record(id string, dense ...float32) vector.Record { return vector.Record{ID: id, Dense: dense} }

func query(t *testing.T, r *vector.Router, user conversation.UserID, generation int64, q vector.Query) []string {
	t.Helper()
	matches, err := r.Query(t.Context(), user, generation, q)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range matches {
		ids = append(ids, m.ID)
	}
	return ids
}

func upsert(t *testing.T, r *vector.Router, user conversation.UserID, generation int64, records ...vector.Record) {
	t.Helper()
	indexes, err := r.WrittenTo(t.Context(), user, generation)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range indexes {
		if err := r.Upsert(t.Context(), user, generation, index, records); err != nil {
			t.Fatal(err)
		}
	}
}

// directory is a table's directory in memory.
type directory struct {
	names       map[conversation.UserID]string
	generations map[conversation.UserID]int64
	moving      map[conversation.UserID]vector.Location
	assigned    []conversation.UserID
}

func newDirectory() *directory {
	return &directory{names: map[conversation.UserID]string{}, generations: map[conversation.UserID]int64{}}
}

func (d *directory) Locate(_ context.Context, user conversation.UserID) (vector.Location, error) {
	p := d.moving[user]
	p.Serving, p.Generation = d.names[user], d.generations[user]
	return p, nil
}

func (d *directory) AssignIndex(
	ctx context.Context, user conversation.UserID, name string,
) (vector.Location, error) {
	d.assigned = append(d.assigned, user)
	d.names[user] = name
	return d.Locate(ctx, user)
}

// find queries the index that the user's record names.
func (d *directory) find(t *testing.T, r *vector.Router, user conversation.UserID, generation int64) []string {
	t.Helper()
	q := east
	q.Index = d.names[user]
	return query(t, r, user, generation, q)
}

// TestAnotherIndexMovesNobody adds an index to a stack that has users.
func TestAnotherIndexMovesNobody(t *testing.T) {
	t.Parallel()
	alone := vectortest.NewRouter(nil, "first")
	upsert(t, alone, "old", 0, record("m1", 1, 0))
	upsert(t, alone, "erased", 1, record("m1", 1, 0))
	upsert(t, alone, "late", 1, record("m1", 1, 0))

	d := newDirectory()
	d.generations["erased"] = 2 // and its vectors of generation 1 are still to be dropped
	d.generations["late"] = 1
	r := vectortest.NewRouter(d, "first", "b")
	r.Indexes["first"] = alone.Indexes["first"]
	if got := d.find(t, r, "old", 0); len(got) != 1 {
		t.Errorf("before its next vector the old user finds %v", got)
	}
	upsert(t, r, "old", 0, record("m2", 1, 0))
	upsert(t, r, "new", 0, record("m3", 1, 0))
	upsert(t, r, "new", 0, record("m4", 1, 0))
	upsert(t, r, "erased", 2, record("m5", 1, 0))
	upsert(t, r, "late", 0, record("m6", 1, 0)) // by a worker that has not heard of the erasure
	want := map[conversation.UserID]string{"old": "first", "new": "b", "erased": "first", "late": "first"}
	if diff := cmp.Diff(want, d.names); diff != "" {
		t.Errorf("records (-want +got)\n%s", diff)
	}
	if len(d.assigned) != 4 {
		t.Errorf("assigned %v: a user is assigned once", d.assigned)
	}
	for user, generation := range map[conversation.UserID]int64{"old": 0, "new": 0} {
		if got := d.find(t, r, user, generation); len(got) != 2 {
			t.Errorf("%s finds %v", user, got)
		}
	}
	if got := query(t, alone, "new", 0, east); len(got) != 0 {
		t.Errorf("the first index has the new user's %v", got)
	}
	for user, want := range map[conversation.UserID]int{"new": 2, "old": 2, "erased": 0} {
		if n, err := r.Drop(t.Context(), user, 0); n != want || err != nil {
			t.Errorf("dropped %d of %s (%v), want %d", n, user, err, want)
		}
	}
	if n, err := r.Drop(t.Context(), "erased", 1); n != 1 || err != nil {
		t.Errorf("dropped %d of an earlier generation (%v), want 1", n, err)
	}
}

func TestDeletionGoesToTheUsersIndex(t *testing.T) {
	t.Parallel()
	d := newDirectory()
	r := vectortest.NewRouter(d, "first", "b")
	upsert(t, r, "anna", 0, record("m1", 1, 0), record("m2", 1, 0))
	if err := r.Delete(t.Context(), "anna", 0, []string{"m1"}); err != nil {
		t.Fatal(err)
	}
	if got := d.find(t, r, "anna", 0); len(got) != 1 || got[0] != "m2" {
		t.Errorf("left are %v", got)
	}
	if err := r.Delete(t.Context(), "nobody", 0, []string{"m1"}); err != nil || d.names["nobody"] != "" {
		t.Errorf("a deletion assigned an index: %v, %v", d.names, err)
	}
}

// TestAReindexReachesBothIndexes writes and deletes while a user is reindexed, and after it, when the old index still
// has vectors. The indexes have different dimensions.
func TestAReindexReachesBothIndexes(t *testing.T) {
	t.Parallel()
	d := newDirectory()
	r := vectortest.NewRouter(d, "first", "b")
	r.NewUsers, r.Indexes["b"] = "first", vectortest.NewIndex(3)
	wide := vector.Record{ID: "m1", Dense: []float32{1, 0, 0}}
	upsert(t, r, "other", 0, record("m1", 1, 0))
	upsert(t, r, "anna", 0, record("m1", 1, 0), record("m2", 1, 0))
	d.moving = map[conversation.UserID]vector.Location{"anna": {Target: "b"}}
	indexes, err := r.WrittenTo(t.Context(), "anna", 0)
	if diff := cmp.Diff([]string{"first", "b"}, indexes); diff != "" || err != nil {
		t.Fatalf("written to: %v (-want +got)\n%s", err, diff)
	}
	if err := r.Upsert(t.Context(), "anna", 0, "b", []vector.Record{record("m1", 1, 0)}); err == nil {
		t.Error("the index took a vector of another dimension")
	}
	if err := r.Upsert(t.Context(), "anna", 0, "b", []vector.Record{wide}); err != nil {
		t.Fatal(err)
	}
	wideEast := vector.Query{Dense: []float32{1, 0, 0}, TopK: 10, Index: "b"}
	d.names["anna"], d.moving["anna"] = "b", vector.Location{Retired: "first"}
	if got := query(t, r, "anna", 0, wideEast); len(got) != 1 {
		t.Errorf("the next index finds %v", got)
	}
	if indexes, err = r.WrittenTo(t.Context(), "anna", 0); len(indexes) != 1 || indexes[0] != "b" || err != nil {
		t.Errorf("after the reindex it is written to %v, %v", indexes, err)
	}
	if err := r.Delete(t.Context(), "anna", 0, []string{"m1"}); err != nil {
		t.Fatal(err)
	}
	if got := query(t, r, "anna", 0, east); len(got) != 1 || got[0] != "m2" {
		t.Errorf("the old index has %v after the deletion", got)
	}
	if err := r.Upsert(t.Context(), "anna", 0, "b", []vector.Record{wide}); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Drop(t.Context(), "anna", 0); n != 2 || err != nil {
		t.Errorf("an erasure deleted %d, %v; want one vector of each index", n, err)
	}
	if got := query(t, r, "other", 0, east); len(got) != 1 {
		t.Errorf("another user is left with %v", got)
	}
	upsert(t, r, "other", 0, record("m2", 1, 0))
	if n, err := r.DropFrom(t.Context(), "other", 0, "b"); n != 0 || err != nil {
		t.Errorf("the other index had %d, %v", n, err)
	}
	if n, err := r.DropFrom(t.Context(), "other", 0, "first"); n != 2 || err != nil {
		t.Errorf("one index had %d, %v", n, err)
	}
}

func TestAnUnknownIndexIsAnError(t *testing.T) {
	t.Parallel()
	d := newDirectory()
	d.names["anna"] = "gone"
	r := vectortest.NewRouter(d, "first", "b")
	_, writtenErr := r.WrittenTo(t.Context(), "anna", 0)
	_, dropErr := r.Drop(t.Context(), "anna", 0)
	_, queryErr := r.Query(t.Context(), "anna", 0, vector.Query{Dense: []float32{1, 0}, Index: "gone"})
	alone := vectortest.NewRouter(nil, "first")
	_, aloneErr := alone.Query(t.Context(), "anna", 0, vector.Query{Dense: []float32{1, 0}, Index: "b"})
	for op, err := range map[string]error{
		"written": writtenErr,
		"upsert":  r.Upsert(t.Context(), "anna", 0, "gone", []vector.Record{record("m1", 1, 0)}),
		"delete":  r.Delete(t.Context(), "anna", 0, []string{"m1"}),
		"drop":    dropErr, "query": queryErr, "query of the only index": aloneErr,
	} {
		if !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "is not configured") {
			t.Errorf("%s: %v", op, err)
		}
	}
	if diff := cmp.Diff(map[conversation.UserID]string{"anna": "gone"}, d.names); diff != "" {
		t.Errorf("the record changed\n%s", diff)
	}
}
