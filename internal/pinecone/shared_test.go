package pinecone_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/pineconetest"
	"github.com/throughline/throughline/internal/vector"
)

// TestMain checks properties 30 times where the command line does not say how often: each has many remote calls. make
// soak checks them more often.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	m.Run() // which reads the command line
}

// intricateUsers have ids that are prefixes, hashes and namespaces of each other, or hold the separators of stored ids.
var intricateUsers = []conversation.UserID{
	"a", "a.0", "a.1", "a#", "a#m0", "ab", "änna", hashOfAnna, hashOfAnna + ".0", hashOfAnna + ".0#m0", "~shared.2.0", "~",
}

// intricateGenerations are prefixes of each other.
var intricateGenerations = []int64{0, 1, 10, 11}

// intricateIDs are ids of vectors with the same difficulties.
var intricateIDs = []string{"m0", "m0#1", "#", "1#m0", "änna", "~m", hashOfAnna + ".1#m0", "msg_änna_1"}

// holder is a user and generation.
type holder struct {
	user       conversation.UserID
	generation int64
}

// TestSharedNamespacesKeepUsersApart carries out any operations of users who share namespaces, and after each compares
// what every user finds with a model that keeps the users apart.
func TestSharedNamespacesKeepUsersApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		shared := rapid.IntRange(1, 3).Draw(rt, "namespaces")
		host := pineconetest.Host(t, 2)
		c := pineconetest.Dial(t, host, shared)
		model := map[holder]map[string]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "operations") {
			h := holder{
				rapid.SampledFrom(intricateUsers).Draw(rt, "user"), rapid.SampledFrom(intricateGenerations).Draw(rt, "generation"),
			}
			if model[h] == nil {
				model[h] = map[string]bool{}
			}
			ids := rapid.SliceOfDistinct(rapid.SampledFrom(intricateIDs), rapid.ID).Draw(rt, "ids")
			operate(rt, c, h, ids, model[h], rapid.IntRange(0, 3).Draw(rt, "operation"))
			for h, held := range model {
				found := everything(rt, c, h)
				if diff := cmp.Diff(slices.Sorted(maps.Keys(held)), found, cmpopts.EquateEmpty()); diff != "" {
					rt.Fatalf("%+v finds (-want +got)\n%s", h, diff)
				}
			}
		}
	})
}

// operate stores vectors, deletes some or drops all, in the index and in a model of what the holder has.
func operate(t *rapid.T, c *pinecone.Index, h holder, ids []string, held map[string]bool, operation int) {
	ctx := t.Context()
	switch operation {
	case 0:
		check.OK(t, c.Delete(ctx, h.user, h.generation, ids))
		for _, id := range ids {
			delete(held, id)
		}
	case 1:
		n, err := c.Drop(ctx, h.user, h.generation)
		if err != nil || n != len(held) {
			t.Fatalf("dropped %d (%v), want %d", n, err, len(held))
		}
		clear(held)
	default:
		records := make([]vector.Record, len(ids))
		for i, id := range ids {
			records[i] = record(id, 1, 0)
			records[i].Metadata["~owner"] = "somebody else" // an app may have a field of any name
			held[id] = true
		}
		check.OK(t, c.Upsert(ctx, h.user, h.generation, records))
	}
}

// everything returns the ids that a query of the holder finds, in order.
func everything(t *rapid.T, c *pinecone.Index, h holder) []string {
	matches := check.Got(c.Query(t.Context(), h.user, h.generation, vector.Query{
		Dense: []float32{1, 0}, TopK: 1000, Filter: vector.Where("recordType", vector.Equal, "message"),
	}))(t)
	return slices.Sorted(slices.Values(ids(matches)))
}

// TestAnotherUsersMatchesAreDropped has a service that ignores filters.
func TestAnotherUsersMatchesAreDropped(t *testing.T) {
	t.Parallel()
	host := pineconetest.Host(t, 2, func(
		ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler,
	) (any, error) {
		m := r.(proto.Message).ProtoReflect()
		if field := m.Descriptor().Fields().ByName("filter"); field != nil {
			m.Clear(field)
		}
		return next(ctx, r)
	})
	c := pineconetest.Dial(t, host, 1)
	upsert(t, c, "anna", 0, record("m1", 1, 0))
	upsert(t, c, "anna", 1, record("m2", 1, 0))
	upsert(t, c, "bela", 0, record("m3", 1, 0))
	check.Same(t, []string{"m1"}, query(t, c, "anna", 0, east), "found")
}

// TestNearerVectorsOfOthersCrowdNobodyOut asks for as many matches as the user has, in a namespace where others have
// nearer ones.
func TestNearerVectorsOfOthersCrowdNobodyOut(t *testing.T) {
	t.Parallel()
	c := pineconetest.Dial(t, pineconetest.Host(t, 2), 1)
	upsert(t, c, "anna", 0, record("m1", 0.6, 0.8))
	upsert(t, c, "anna", 1, record("m2", 1, 0))
	upsert(t, c, "bela", 0, record("m3", 1, 0), record("m4", 1, 0))
	for _, filter := range []vector.Filter{{}, vector.Where("recordType", vector.Equal, "message")} {
		q := vector.Query{Dense: []float32{1, 0}, TopK: 1, Filter: filter}
		check.Same(t, []string{"m1"}, query(t, c, "anna", 0, q), "found")
	}
}

func TestUsersShareNamespaces(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	host := pineconetest.Host(t, 2, func(
		ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler,
	) (any, error) {
		m := r.(proto.Message).ProtoReflect()
		seen[m.Get(m.Descriptor().Fields().ByName("namespace")).String()]++
		return next(ctx, r)
	})
	c := pineconetest.Dial(t, host, 8)
	for i := range 200 {
		upsert(t, c, conversation.UserID(fmt.Sprint("user", i)), 0, record("m", 1, 0))
	}
	if len(seen) != 8 {
		t.Fatalf("%d namespaces, want 8", len(seen))
	}
	for name, users := range seen {
		if users < 10 || users > 40 {
			t.Errorf("namespace %s has %d of 200 users", name, users)
		}
	}
}

// TestDropOfManyPages deletes more vectors than a page of the list has, beside another user's.
func TestDropOfManyPages(t *testing.T) {
	t.Parallel()
	c := pineconetest.Dial(t, pineconetest.Host(t, 2), 1)
	records := make([]vector.Record, 1234)
	for i := range records {
		records[i] = record(fmt.Sprint("m", i), 1, 0)
	}
	upsert(t, c, "anna", 0, records...)
	upsert(t, c, "bela", 0, records[:7]...)
	for _, want := range []int{1234, 0} {
		if n, err := c.Drop(t.Context(), "anna", 0); n != want || err != nil {
			t.Errorf("dropped %d (%v), want %d", n, err, want)
		}
	}
	if got := query(t, c, "bela", 0, east); len(got) != 7 {
		t.Errorf("another user has %d left, want 7", len(got))
	}
}
