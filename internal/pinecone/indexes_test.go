package pinecone_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/pineconelocal/pineconetest"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/vector"
)

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
func (d *directory) find(t *testing.T, c *vector.Router, user conversation.UserID, generation int64) []string {
	t.Helper()
	q := east
	q.Index = d.names[user]
	return query(t, c, user, generation, q)
}

// TestAnotherIndexMovesNobody adds an index to a stack that has users.
func TestAnotherIndexMovesNobody(t *testing.T) {
	t.Parallel()
	for name, namespaces := range map[string]config.Namespaces{"own": 0, "shared": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := config.Pinecone{IndexHost: pineconetest.Host(t, 2), Namespaces: namespaces}
			alone := pineconetest.Dial(t, first, nil)
			upsert(t, alone, "old", 0, record("m1", 1, 0))
			upsert(t, alone, "erased", 1, record("m1", 1, 0))
			upsert(t, alone, "late", 1, record("m1", 1, 0))

			d := newDirectory()
			d.generations["erased"] = 2 // and its vectors of generation 1 are still to be dropped
			d.generations["late"] = 1
			both := first
			both.MoreIndexes, both.NewUsersIndex = config.Indexes{"b": pineconetest.Host(t, 2)}, "b"
			c := pineconetest.Dial(t, both, d)
			if got := d.find(t, c, "old", 0); len(got) != 1 {
				t.Errorf("before its next vector the old user finds %v", got)
			}
			upsert(t, c, "old", 0, record("m2", 1, 0))
			upsert(t, c, "new", 0, record("m3", 1, 0))
			upsert(t, c, "new", 0, record("m4", 1, 0))
			upsert(t, c, "erased", 2, record("m5", 1, 0))
			upsert(t, c, "late", 0, record("m6", 1, 0)) // by a worker that has not heard of the erasure
			want := map[conversation.UserID]string{"old": "first", "new": "b", "erased": "first", "late": "first"}
			if diff := cmp.Diff(want, d.names); diff != "" {
				t.Errorf("records (-want +got)\n%s", diff)
			}
			if len(d.assigned) != 4 {
				t.Errorf("assigned %v: a user is assigned once", d.assigned)
			}
			for user, generation := range map[conversation.UserID]int64{"old": 0, "new": 0} {
				if got := d.find(t, c, user, generation); len(got) != 2 {
					t.Errorf("%s finds %v", user, got)
				}
			}
			if got := query(t, alone, "new", 0, east); len(got) != 0 {
				t.Errorf("the first index has the new user's %v", got)
			}
			for user, want := range map[conversation.UserID]int{"new": 2, "old": 2, "erased": 0} {
				if n, err := c.Drop(t.Context(), user, 0); n != want || err != nil {
					t.Errorf("dropped %d of %s (%v), want %d", n, user, err, want)
				}
			}
			if n, err := c.Drop(t.Context(), "erased", 1); n != 1 || err != nil {
				t.Errorf("dropped %d of an earlier generation (%v), want 1", n, err)
			}
		})
	}
}

func TestDeletionGoesToTheUsersIndex(t *testing.T) {
	t.Parallel()
	d := newDirectory()
	c := pineconetest.Dial(t, config.Pinecone{
		IndexHost: pineconetest.Host(t, 2), MoreIndexes: config.Indexes{"b": pineconetest.Host(t, 2)}, NewUsersIndex: "b",
	}, d)
	upsert(t, c, "anna", 0, record("m1", 1, 0), record("m2", 1, 0))
	if err := c.Delete(t.Context(), "anna", 0, []string{"m1"}); err != nil {
		t.Fatal(err)
	}
	if got := d.find(t, c, "anna", 0); len(got) != 1 || got[0] != "m2" {
		t.Errorf("left are %v", got)
	}
	if err := c.Delete(t.Context(), "nobody", 0, []string{"m1"}); err != nil || d.names["nobody"] != "" {
		t.Errorf("a deletion assigned an index: %v, %v", d.names, err)
	}
}

// TestAMoveReachesBothIndexes writes and deletes while a user is moved, and after it, when the old index still has
// vectors. The indexes have different dimensions.
func TestAMoveReachesBothIndexes(t *testing.T) {
	t.Parallel()
	for name, namespaces := range map[string]config.Namespaces{"own": 0, "shared": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDirectory()
			c := pineconetest.Dial(t, config.Pinecone{
				IndexHost: pineconetest.Host(t, 2), MoreIndexes: config.Indexes{"b": pineconetest.Host(t, 3)},
				Namespaces: namespaces,
			}, d)
			wide := vector.Record{ID: "m1", Dense: []float32{1, 0, 0}}
			upsert(t, c, "other", 0, record("m1", 1, 0))
			upsert(t, c, "anna", 0, record("m1", 1, 0), record("m2", 1, 0))
			d.moving = map[conversation.UserID]vector.Location{"anna": {Target: "b"}}
			indexes, err := c.WrittenTo(t.Context(), "anna", 0)
			if diff := cmp.Diff([]string{"first", "b"}, indexes); diff != "" || err != nil {
				t.Fatalf("written to: %v (-want +got)\n%s", err, diff)
			}
			if err := c.Upsert(t.Context(), "anna", 0, "b", []vector.Record{record("m1", 1, 0)}); err == nil {
				t.Error("the index took a vector of another dimension")
			}
			if err := c.Upsert(t.Context(), "anna", 0, "b", []vector.Record{wide}); err != nil {
				t.Fatal(err)
			}
			wideEast := vector.Query{Dense: []float32{1, 0, 0}, TopK: 10, Index: "b"}
			d.names["anna"], d.moving["anna"] = "b", vector.Location{Retired: "first"}
			if got := query(t, c, "anna", 0, wideEast); len(got) != 1 {
				t.Errorf("the next index finds %v", got)
			}
			if indexes, err = c.WrittenTo(t.Context(), "anna", 0); len(indexes) != 1 || indexes[0] != "b" || err != nil {
				t.Errorf("after the move it is written to %v, %v", indexes, err)
			}
			if err := c.Delete(t.Context(), "anna", 0, []string{"m1"}); err != nil {
				t.Fatal(err)
			}
			if got := query(t, c, "anna", 0, east); len(got) != 1 || got[0] != "m2" {
				t.Errorf("the old index has %v after the deletion", got)
			}
			if err := c.Upsert(t.Context(), "anna", 0, "b", []vector.Record{wide}); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Drop(t.Context(), "anna", 0); n != 2 || err != nil {
				t.Errorf("an erasure deleted %d, %v; want one vector of each index", n, err)
			}
			if got := query(t, c, "other", 0, east); len(got) != 1 {
				t.Errorf("another user is left with %v", got)
			}
			upsert(t, c, "other", 0, record("m2", 1, 0))
			if n, err := c.DropFrom(t.Context(), "other", 0, "b"); n != 0 || err != nil {
				t.Errorf("the other index had %d, %v", n, err)
			}
			if n, err := c.DropFrom(t.Context(), "other", 0, "first"); n != 2 || err != nil {
				t.Errorf("one index had %d, %v", n, err)
			}
		})
	}
}

func TestAnUnknownIndexIsAnError(t *testing.T) {
	t.Parallel()
	d := newDirectory()
	d.names["anna"] = "gone"
	c := pineconetest.Dial(t, config.Pinecone{
		IndexHost: pineconetest.Host(t, 2), MoreIndexes: config.Indexes{"b": pineconetest.Host(t, 2)},
	}, d)
	_, writtenErr := c.WrittenTo(t.Context(), "anna", 0)
	_, dropErr := c.Drop(t.Context(), "anna", 0)
	_, queryErr := c.Query(t.Context(), "anna", 0, vector.Query{Dense: []float32{1, 0}, Index: "gone"})
	alone := pineconetest.Dial(t, config.Pinecone{IndexHost: pineconetest.Host(t, 2)}, nil)
	_, aloneErr := alone.Query(t.Context(), "anna", 0, vector.Query{Dense: []float32{1, 0}, Index: "b"})
	for op, err := range map[string]error{
		"written": writtenErr,
		"upsert":  c.Upsert(t.Context(), "anna", 0, "gone", []vector.Record{record("m1", 1, 0)}),
		"delete":  c.Delete(t.Context(), "anna", 0, []string{"m1"}),
		"drop":    dropErr, "query": queryErr, "query of the only index": aloneErr,
	} {
		if !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "is not configured") {
			t.Errorf("%s: %v", op, err)
		}
	}
	before := maps.Clone(d.names)
	if diff := cmp.Diff(map[conversation.UserID]string{"anna": "gone"}, before); diff != "" {
		t.Errorf("the record changed\n%s", diff)
	}
}

func TestIndexesThatAreNotThere(t *testing.T) {
	t.Parallel()
	for _, cfg := range []config.Pinecone{
		{IndexHost: "h", NewUsersIndex: "b"},
		{IndexHost: "h", MoreIndexes: config.Indexes{"b": "http://"}, NewUsersIndex: "b"},
		{MoreIndexes: config.Indexes{"b": "h"}, NewUsersIndex: "b"},
		{IndexHost: "h", Embeddings: config.Embeddings{"b": {Model: "m", Dimensions: 2}}},
	} {
		if _, err := pinecone.New(cfg, nil); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
