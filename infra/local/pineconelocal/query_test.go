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
)

// scores returns the matches as "id score".
func scores(res *pinecone.QueryVectorsResponse) []string {
	var out []string
	for _, m := range res.Matches {
		out = append(out, fmt.Sprintf("%s %.3f", m.Vector.Id, m.Score))
	}
	return out
}

func TestQueryScores(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	upsert(t, conn, dense("near", 1, 0), dense("far", 10, 0), dense("right", 0, 1), dense("back", -2, 0))
	res, err := conn.QueryByVectorValues(t.Context(),
		&pinecone.QueryByVectorValuesRequest{Vector: []float32{1, 0}, TopK: 10})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"far 10.000", "near 1.000", "right 0.000", "back -2.000"}
	if diff := gocmp.Diff(want, scores(res)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if res.Usage == nil || res.Usage.ReadUnits == 0 {
		t.Errorf("usage %v, want some read units", res.Usage)
	}
}

func TestQueryHybrid(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	upsert(t, conn,
		hybrid("words", []float32{1, 1}, []uint32{3, 7}, []float32{5, 2}),
		hybrid("other", []float32{1, 1}, []uint32{4}, []float32{9}),
		dense("dense", 3, 3),
	)
	for name, tc := range map[string]struct {
		dense   []float32
		indices []uint32
		values  []float32
		want    []string
	}{
		"both": {
			[]float32{1, 0},
			[]uint32{3, 7},
			[]float32{1, 0.5},
			[]string{"words 7.000", "dense 3.000", "other 1.000"},
		},
		"sparse only": {
			[]float32{0, 0},
			[]uint32{4},
			[]float32{1},
			[]string{"other 9.000", "dense 0.000", "words 0.000"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := conn.QueryByVectorValues(t.Context(), &pinecone.QueryByVectorValuesRequest{
				Vector: tc.dense, TopK: 3, SparseValues: &pinecone.SparseValues{Indices: tc.indices, Values: tc.values},
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tc.want, scores(res)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueryIncludesMetadata(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	v := dense("a", 1)
	v.Metadata = object(t, map[string]any{"text": "x"})
	upsert(t, conn, v)
	for _, include := range []bool{false, true} {
		res, err := conn.QueryByVectorValues(t.Context(), &pinecone.QueryByVectorValuesRequest{
			Vector: []float32{1}, TopK: 1, IncludeMetadata: include,
		})
		if err != nil {
			t.Fatal(err)
		}
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

// TestQueryOfManyEqualsFullSort has many records with equal scores.
func TestQueryOfManyEqualsFullSort(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	var vectors []*pinecone.Vector
	for i := range 9_000 {
		vectors = append(vectors, dense(fmt.Sprintf("id-%d", i*7919%9_000), float32(i%13-6), float32(i%7-3), 1))
	}
	for batch := range slices.Chunk(vectors, 1_000) {
		upsert(t, conn, batch...)
	}
	target := []float32{2, -1, 1}
	for _, k := range []int{1, 10, 1_000, 10_000} {
		got := query(t, conn, pinecone.QueryByVectorValuesRequest{Vector: target, TopK: uint32(k)})
		if diff := gocmp.Diff(fullSort(vectors, target, k), got); diff != "" {
			t.Errorf("top %d (-want +got):\n%s", k, diff)
		}
	}
}
