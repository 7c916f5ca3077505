package pineconelocal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

// listed walks all pages.
func listed(t testing.TB, conn *pinecone.IndexConnection, prefix string, limit uint32) (ids []string, pages int) {
	t.Helper()
	req := pinecone.ListVectorsRequest{Limit: &limit}
	if prefix != "" {
		req.Prefix = &prefix
	}
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
	conn := connect(t, pineconelocal.Options{})
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		ns := conn.WithNamespace(fmt.Sprintf("run-%d", run))
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab#]{1,4}`), 1, 40, rapid.ID).Draw(rt, "ids")
		for _, id := range ids {
			upsert(t, ns, vector(id, 1))
		}
		prefix := rapid.StringMatching(`[ab#]{0,2}`).Draw(rt, "prefix")
		limit := rapid.IntRange(1, 45).Draw(rt, "limit")
		var want []string
		for _, id := range slices.Sorted(slices.Values(ids)) {
			if strings.HasPrefix(id, prefix) {
				want = append(want, id)
			}
		}
		got, pages := listed(t, ns, prefix, uint32(limit))
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
		}
		if most := max(1, (len(want)+limit-1)/limit); pages != most {
			rt.Fatalf("%d pages for %d ids, %d each", pages, len(want), limit)
		}
	})
}

func TestListTokens(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	upsert(t, conn, vector("a1", 1), vector("a2", 1), vector("b1", 1))
	list := func(prefix, token string) (*pinecone.ListVectorsResponse, error) {
		return conn.ListVectors(t.Context(),
			&pinecone.ListVectorsRequest{Prefix: &prefix, Limit: new(uint32(1)), PaginationToken: &token})
	}
	first, err := list("a", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.DeleteVectorsById(t.Context(), []string{"a1"}); err != nil {
		t.Fatal(err)
	}
	second, err := list("a", *first.NextPaginationToken)
	if err != nil || len(second.VectorIds) != 1 || *second.VectorIds[0] != "a2" {
		t.Errorf("the page after a deleted id: %v, %v", second, err)
	}
	_, err = list("b", *first.NextPaginationToken)
	expect(t, err, "The pagination token was made for another prefix: 'a'")
	_, err = list("a", "nonsense")
	expect(t, err, "Invalid pagination token")
}

func TestListFindsNothing(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	if ids, pages := listed(t, conn, "", 10); ids != nil || pages != 1 {
		t.Errorf("listed %v on %d pages", ids, pages)
	}
}

func TestFetchByMetadataPages(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	var want []string
	for i := range 25 {
		v := vector(fmt.Sprintf("id-%02d", i), 1)
		v.Metadata = object(t, map[string]any{"even": i%2 == 0})
		upsert(t, conn, v)
		if i%2 == 0 {
			want = append(want, v.Id)
		}
	}
	req := pinecone.FetchVectorsByMetadataRequest{Filter: object(t, map[string]any{"even": true}), Limit: new(uint32(5))}
	var got []string
	for {
		res, err := conn.FetchVectorsByMetadata(t.Context(), &req)
		if err != nil {
			t.Fatal(err)
		}
		var page []string
		for id, v := range res.Vectors {
			page = append(page, id)
			if v.Values == nil || v.Metadata == nil {
				t.Errorf("%s came without values or metadata", id)
			}
		}
		got = append(got, slices.Sorted(slices.Values(page))...)
		if res.Pagination == nil {
			break
		}
		req.PaginationToken = &res.Pagination.Next
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err := conn.FetchVectorsByMetadata(t.Context(), &pinecone.FetchVectorsByMetadataRequest{Filter: object(t, nil)})
	expect(t, err, "A non-empty metadata filter must be given")
}
