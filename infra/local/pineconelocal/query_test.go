package pineconelocal_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestQueryIncludesMetadata(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	v := dense("a", 1)
	v.Metadata = object(t, map[string]any{"text": "x"})
	upsert(t, conn, v)
	for _, include := range []bool{false, true} {
		res := check.Got(conn.QueryByVectorValues(t.Context(), &pinecone.QueryByVectorValuesRequest{
			Vector: []float32{1}, TopK: 1, IncludeMetadata: include,
		}))(t)
		if got := res.Matches[0].Vector; (got.Metadata != nil) != include || got.Values != nil {
			t.Errorf("%t: %+v", include, got)
		}
	}
}

func TestQueryFindsNothing(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	request := pinecone.QueryByVectorValuesRequest{Vector: []float32{1, 2}, TopK: 3}
	if got := query(t, conn, request); got != nil {
		t.Errorf("in an index without a dimension: %v", got)
	}
	upsert(t, conn, dense("a", 1, 2))
	if got := query(t, conn.WithNamespace("missing"), request); got != nil {
		t.Errorf("in a missing namespace: %v", got)
	}
}

// fullSort answers a query by sorting all vectors. They hold small whole numbers, so their products are exact.
func fullSort(vectors []*pinecone.Vector, query []float32, k int) []string {
	score := func(v *pinecone.Vector) float64 {
		var sum float64
		for i, x := range *v.Values {
			sum += float64(x) * float64(query[i])
		}
		return sum
	}
	vectors = slices.Clone(vectors)
	slices.SortFunc(vectors, func(a, b *pinecone.Vector) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), strings.Compare(a.Id, b.Id))
	})
	var ids []string
	for _, v := range vectors[:min(k, len(vectors))] {
		ids = append(ids, v.Id)
	}
	return ids
}

func TestQueryEqualsFullSort(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{Dimension: 5})
	draws := 0
	rapid.Check(t, func(rt *rapid.T) {
		draws++
		ns := conn.WithNamespace(fmt.Sprintf("draw-%d", draws))
		small := rapid.Map(rapid.IntRange(-3, 3), func(i int) float32 { return float32(i) })
		values := rapid.SliceOfN(small, 5, 5)
		stored := values.Filter(func(v []float32) bool { return slices.Max(v) != 0 || slices.Min(v) != 0 })
		var vectors []*pinecone.Vector
		for i, v := range rapid.SliceOfN(stored, 1, 60).Draw(rt, "stored") {
			vectors = append(vectors, dense(fmt.Sprintf("id-%d", i), v...))
		}
		upsert(t, ns, vectors...)
		target, k := values.Draw(rt, "target"), rapid.IntRange(1, 70).Draw(rt, "k")
		got := query(t, ns, pinecone.QueryByVectorValuesRequest{Vector: target, TopK: uint32(k)})
		if diff := gocmp.Diff(fullSort(vectors, target, k), got); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
