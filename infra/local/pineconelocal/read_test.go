package pineconelocal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/internal/testing/check"
)

// list reads all pages of the ids with a prefix.
func list(t testing.TB, conn *pinecone.IndexConnection, prefix string, limit uint32) (ids []string, pages int) {
	t.Helper()
	req := pinecone.ListVectorsRequest{Prefix: &prefix, Limit: &limit}
	for {
		res, err := conn.ListVectors(t.Context(), &req)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		pages++
		for _, id := range res.VectorIds {
			ids = append(ids, *id)
		}
		if res.NextPaginationToken == nil {
			return ids, pages
		}
		req.PaginationToken = res.NextPaginationToken
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	draws := 0
	rapid.Check(t, func(rt *rapid.T) {
		draws++
		ns := conn.WithNamespace(fmt.Sprintf("draw-%d", draws))
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab#]{1,4}`), 1, 40, rapid.ID).Draw(rt, "ids")
		for _, id := range ids {
			upsert(t, ns, dense(id, 1))
		}
		limit := rapid.IntRange(1, 45).Draw(rt, "limit")
		prefix := rapid.StringMatching(`[ab#]{0,2}`).Draw(rt, "prefix")
		ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, prefix) })
		slices.Sort(ids)
		got, pages := list(t, ns, prefix, uint32(limit))
		if diff := cmp.Diff(ids, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
		}
		if want := max(1, (len(ids)+limit-1)/limit); pages != want {
			rt.Fatalf("%d pages for %d ids, %d each", pages, len(ids), limit)
		}
	})
}

func TestListGoesOnAfterADeletedID(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	upsert(t, conn, dense("a1", 1), dense("a2", 1), dense("b1", 1))
	request := pinecone.ListVectorsRequest{Limit: new(uint32(1))}
	first := check.Got(conn.ListVectors(t.Context(), &request))(t)
	check.OK(t, conn.DeleteVectorsById(t.Context(), []string{"a1"}))
	request.PaginationToken = first.NextPaginationToken
	second, err := conn.ListVectors(t.Context(), &request)
	if err != nil || len(second.VectorIds) != 1 || *second.VectorIds[0] != "a2" {
		t.Errorf("the page after a deleted id: %v, %v", second, err)
	}
}

func TestDescribeNamespace(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	ns := conn.WithNamespace("user")
	upsert(t, ns, copies(3, 1)...)
	describe := func(name string, want uint64) {
		t.Helper()
		if got, err := conn.DescribeNamespace(t.Context(), name); err != nil || got.Name != name || got.RecordCount != want {
			t.Errorf("%s: %+v, %v, want %d records", name, got, err, want)
		}
	}
	describe("user", 3)
	check.OK(t, ns.DeleteVectorsById(t.Context(), ids(3)))
	describe("user", 0) // deleting all records leaves the namespace
	check.OK(t, conn.DeleteNamespace(t.Context(), "user"))
	_, err := conn.DescribeNamespace(t.Context(), "user")
	wantStatus(t, err, "NotFound: Namespace not found")
}

func TestDescribeIndexStats(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	upsert(t, conn, copies(5, 1, 2)...)
	upsert(t, conn.WithNamespace("other"), dense("a", 1, 2))
	got := stats(t, conn)
	if got.Dimension == nil || *got.Dimension != 2 ||
		got.Namespaces["__default__"].VectorCount != 5 || got.Namespaces["other"].VectorCount != 1 {
		t.Errorf("got %+v", got)
	}
}
