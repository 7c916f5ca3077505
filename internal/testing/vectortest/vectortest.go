// Package vectortest is the conformance suite of a vector index. It tests what vector.Index asks of an implementation.
package vectortest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/vector"
)

// space is a user and a generation.
type space struct {
	user       conversation.UserID
	generation int64
}

// Dimensions is the dimension of the vectors of the suite.
const Dimensions = 2

// Run tests an implementation. open returns an empty index of vectors of Dimensions, whose writes can be read at once.
func Run(t *testing.T, open func(t *testing.T) vector.Index) {
	for name, test := range map[string]func(*testing.T, vector.Index){
		"describes itself": describe, "order": order, "fields": fields, "filters": filters, "upsert": upsert,
		"many records": manyRecords, "users and generations": apart, "at the same time": together,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

var east = vector.Query{Dense: []float32{1, 0}, TopK: 100}

func record(id string, dense ...float32) vector.Record { return vector.Record{ID: id, Dense: dense} }

// put stores records of Ann's first generation.
func put(t *testing.T, x vector.Index, records ...vector.Record) {
	t.Helper()
	if err := x.Upsert(t.Context(), "ann", 0, records); err != nil {
		t.Fatal(err)
	}
}

// want compares the ids that a query of Ann's first generation finds, in order.
func want(t *testing.T, x vector.Index, q vector.Query, ids ...string) {
	t.Helper()
	matches, err := x.Query(t.Context(), "ann", 0, q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ids, idsOf(matches), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("found (-want +got)\n%s", diff)
	}
}

func idsOf(matches []vector.Match) []string {
	ids := make([]string, len(matches))
	for i, m := range matches {
		ids[i] = m.ID
	}
	return ids
}

func describe(t *testing.T, x vector.Index) {
	if x.Source() == "" {
		t.Error("the index has no name")
	}
	put(t, x, record("m", 1, 0))
	if n, err := x.Dimension(t.Context()); err != nil || n != 0 && n != Dimensions {
		t.Errorf("the index says %d dimensions, %v", n, err)
	}
	if err := x.Room(t.Context(), "ann", 0); err != nil {
		t.Errorf("an index that has refused nothing has no room: %v", err)
	}
	if err := x.Upsert(t.Context(), "ann", 0, []vector.Record{record("long", 1, 0, 0)}); err == nil {
		t.Error("the index took a vector of another dimension")
	}
}

func order(t *testing.T, x vector.Index) {
	want(t, x, east)
	lexical := record("lexical", 0.6, 0.8)
	lexical.Sparse = vector.Encode("glute bridges")
	put(t, x, record("far", -1, 0), record("near", 0.8, 0.6), record("nearest", 1, 0), lexical)
	want(t, x, east, "nearest", "near", "lexical", "far")
	best := east
	best.TopK = 2
	want(t, x, best, "nearest", "near")
	hybrid := vector.Query{TopK: 2}
	hybrid.Dense, hybrid.Sparse = vector.Hybrid([]float32{1, 0}, vector.Encode("bridges glute"))
	want(t, x, hybrid, "lexical", "nearest")
	matches, err := x.Query(t.Context(), "ann", 0, hybrid)
	if err != nil || len(matches) == 0 || matches[0].Score < 0.79 || matches[0].Score > 0.81 {
		t.Errorf("the score is not half of both dot products, 0.8: %+v, %v", matches, err)
	}
}

func fields(t *testing.T, x vector.Index) {
	r := record("m", 1, 0)
	r.Metadata = map[string]any{"text": "é", "seq": 7.0, "done": true, "names": []string{"a"}}
	put(t, x, r)
	q := east
	for _, q.Fields = range [][]string{{"text", "seq", "done", "none"}, nil} {
		want := map[string]any{"text": "é", "seq": 7.0, "done": true}
		if q.Fields == nil {
			want = nil
		}
		matches, err := x.Query(t.Context(), "ann", 0, q)
		if err != nil || len(matches) != 1 || !cmp.Equal(want, matches[0].Metadata, cmpopts.EquateEmpty()) {
			t.Errorf("fields %v: %+v, %v", q.Fields, matches, err)
		}
	}
}

func filters(t *testing.T, x vector.Index) {
	for id, metadata := range map[string]map[string]any{
		"a": {"kind": "x", "at": 1.0, "done": true}, "b": {"kind": "y", "at": 2.0, "done": false},
		"c": {"kind": "z", "names": []string{"p", "q"}}, "d": nil,
	} {
		put(t, x, vector.Record{ID: id, Dense: []float32{1, 0}, Metadata: metadata})
	}
	for _, test := range []struct {
		filter vector.Filter
		want   string
	}{
		{vector.Filter{}, "abcd"},
		{vector.Where("kind", vector.Equal, "x"), "a"},
		{vector.Where("at", vector.Equal, 2.0), "b"},
		{vector.Where("done", vector.Equal, true), "a"},
		{vector.Where("names", vector.Equal, "q"), "c"},
		{vector.Where("kind", vector.NotEqual, "x"), "bcd"},
		{vector.Where("kind", vector.In, []string{"x", "z"}), "ac"},
		{vector.Where("names", vector.In, []string{"q", "r"}), "c"},
		{vector.Where("kind", vector.NotIn, []string{"x", "z"}), "bd"},
		{vector.Where("names", vector.NotIn, []string{"q", "r"}), "abd"},
		{vector.Where("at", vector.Above, 1.0), "b"},
		{vector.Where("at", vector.AtLeast, 1.0), "ab"},
		{vector.Where("at", vector.Below, 2.0), "a"},
		{vector.Where("at", vector.AtMost, 2.0), "ab"},
		{vector.AllOf(vector.Where("at", vector.AtMost, 2.0), vector.Where("kind", vector.NotEqual, "x")), "b"},
		{vector.AllOf(vector.Filter{}, vector.Where("kind", vector.Equal, "y")), "b"},
		{vector.AnyOf(vector.Where("at", vector.AtLeast, 2.0), vector.Where("names", vector.Equal, "p")), "bc"},
		{vector.AnyOf(
			vector.AllOf(vector.Where("kind", vector.Equal, "x"), vector.Where("at", vector.Above, 5.0)),
			vector.Where("kind", vector.Equal, "z"),
		), "c"},
	} {
		q := east
		q.Filter = test.filter
		matches, err := x.Query(t.Context(), "ann", 0, q)
		found := strings.Join(slices.Sorted(slices.Values(idsOf(matches))), "")
		if err != nil || found != test.want {
			t.Errorf("%+v finds %q (%v), want %q", test.filter, found, err, test.want)
		}
	}
}

func upsert(t *testing.T, x vector.Index) {
	old := record("m1", 1, 0)
	old.Metadata = map[string]any{"kind": "old"}
	put(t, x, old, record("m2", 1, 0))
	put(t, x, record("m1", -1, 0))
	want(t, x, east, "m2", "m1")
	q := east
	q.Filter = vector.Where("kind", vector.Equal, "old")
	want(t, x, q)
	if err := x.Delete(t.Context(), "ann", 0, []string{"m1", "none", "m1"}); err != nil {
		t.Fatal(err)
	}
	want(t, x, east, "m2")
}

func manyRecords(t *testing.T, x vector.Index) {
	const count, deleted = 2500, 2400
	records, ids := make([]vector.Record, count), make([]string, count)
	for i := range records {
		ids[i] = fmt.Sprintf("m%04d", i)
		records[i] = record(ids[i], 1, 0)
	}
	put(t, x, records...)
	if err := x.Delete(t.Context(), "ann", 0, ids[:deleted]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{count - deleted, 0} {
		if n, err := x.Drop(t.Context(), "ann", 0); n != want || err != nil {
			t.Errorf("dropped %d (%v), want %d", n, err, want)
		}
	}
}

// The users, generations and ids of apart begin as others do, or have characters that stored names may have, too.
var (
	intricateUsers       = []conversation.UserID{"a", "a.0", "a.1", "a#", "a#m0", "ab", "änna", "~", "a b"}
	intricateGenerations = []int64{0, 1, 10, 11}
	intricateIDs         = []string{"m0", "m0#1", "#", "1#m0", "änna", "~m", "msg_änna_1"}
)

// apart carries out any operations of several users and generations, and after each compares what every one of them
// finds with a model that keeps them apart.
func apart(t *testing.T, x vector.Index) {
	rapid.Check(t, func(rt *rapid.T) {
		model := map[space]map[string]bool{}
		for _, user := range intricateUsers {
			for _, generation := range intricateGenerations {
				if _, err := x.Drop(rt.Context(), user, generation); err != nil {
					rt.Fatal(err)
				}
			}
		}
		for range rapid.IntRange(1, 8).Draw(rt, "operations") {
			s := space{
				rapid.SampledFrom(intricateUsers).Draw(rt, "user"),
				rapid.SampledFrom(intricateGenerations).Draw(rt, "generation"),
			}
			if model[s] == nil {
				model[s] = map[string]bool{}
			}
			ids := rapid.SliceOfNDistinct(rapid.SampledFrom(intricateIDs), 1, -1, rapid.ID).Draw(rt, "ids")
			operate(rt, x, s, ids, model[s], rapid.IntRange(0, 3).Draw(rt, "operation"))
			for s, held := range model {
				compare(rt, x, s, held)
			}
		}
	})
}

// operate deletes some vectors, drops all or stores some, in the index and in the model.
func operate(t *rapid.T, x vector.Index, s space, ids []string, held map[string]bool, operation int) {
	switch operation {
	case 0:
		if err := x.Delete(t.Context(), s.user, s.generation, ids); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			delete(held, id)
		}
	case 1:
		if n, err := x.Drop(t.Context(), s.user, s.generation); err != nil || n != len(held) {
			t.Fatalf("dropped %d (%v), want %d", n, err, len(held))
		}
		clear(held)
	default:
		records := make([]vector.Record, len(ids))
		for i, id := range ids {
			records[i] = record(id, 1, 0)
			held[id] = true
		}
		if err := x.Upsert(t.Context(), s.user, s.generation, records); err != nil {
			t.Fatal(err)
		}
	}
}

func compare(t *rapid.T, x vector.Index, s space, held map[string]bool) {
	matches, err := x.Query(t.Context(), s.user, s.generation, east)
	found := map[string]bool{}
	for _, id := range idsOf(matches) {
		found[id] = true
	}
	if diff := cmp.Diff(held, found); diff != "" || err != nil {
		t.Fatalf("%+v finds (-want +got), %v\n%s", s, err, diff)
	}
}

// together makes calls of several users at the same time.
func together(t *testing.T, x vector.Index) {
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			user := conversation.UserID(fmt.Sprint("user", n%4))
			if err := writeAndRead(t.Context(), x, user, fmt.Sprint("m", n)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for n := range 4 {
		if deleted, err := x.Drop(t.Context(), conversation.UserID(fmt.Sprint("user", n)), 0); deleted != 4 || err != nil {
			t.Errorf("dropped %d (%v), want 4", deleted, err)
		}
	}
}

func writeAndRead(ctx context.Context, x vector.Index, user conversation.UserID, id string) error {
	if err := x.Upsert(ctx, user, 0, []vector.Record{record(id, 1, 0)}); err != nil {
		return err
	}
	matches, err := x.Query(ctx, user, 0, east)
	if err == nil && !slices.Contains(idsOf(matches), id) {
		return fmt.Errorf("%s does not find %s", user, id)
	}
	return err
}
