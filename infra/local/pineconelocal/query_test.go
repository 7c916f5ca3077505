package pineconelocal_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

func hybrid(id string, values []float32, indices []uint32, sparse []float32) *pinecone.Vector {
	return &pinecone.Vector{
		Id: id, Values: &values, SparseValues: &pinecone.SparseValues{Indices: indices, Values: sparse},
	}
}

// scores are the matches as "id score".
func scores(res *pinecone.QueryVectorsResponse) []string {
	var out []string
	for _, m := range res.Matches {
		out = append(out, fmt.Sprintf("%s %.3f", m.Vector.Id, m.Score))
	}
	return out
}

func TestQueryScores(t *testing.T) {
	for metric, want := range map[pineconelocal.Metric][]string{
		pineconelocal.DotProduct: {"far 10.000", "near 1.000", "right 0.000", "back -2.000"},
		pineconelocal.Cosine:     {"far 1.000", "near 1.000", "right 0.000", "back -1.000"},
		pineconelocal.Euclidean:  {"near 0.000", "right 2.000", "back 9.000", "far 81.000"},
	} {
		t.Run(string(metric), func(t *testing.T) {
			conn := connect(t, pineconelocal.Options{Metric: metric})
			upsert(t, conn, vector("near", 1, 0), vector("far", 10, 0), vector("right", 0, 1), vector("back", -2, 0))
			res, err := conn.QueryByVectorValues(t.Context(),
				&pinecone.QueryByVectorValuesRequest{Vector: []float32{1, 0}, TopK: 10})
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, scores(res)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if res.Usage == nil || res.Usage.ReadUnits == 0 {
				t.Errorf("usage %v, want some read units", res.Usage)
			}
		})
	}
}

func TestQueryHybrid(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	upsert(t, conn,
		hybrid("words", []float32{1, 1}, []uint32{7, 3}, []float32{2, 5}), // indices in any order
		hybrid("other", []float32{1, 1}, []uint32{4}, []float32{9}),
		vector("dense", 3, 3),
	)
	for name, tc := range map[string]struct {
		dense   []float32
		indices []uint32
		values  []float32
		want    []string
	}{
		"both":        {[]float32{1, 0}, []uint32{3, 7}, []float32{1, 0.5}, []string{"words 7.000", "dense 3.000", "other 1.000"}},
		"sparse only": {[]float32{0, 0}, []uint32{4}, []float32{1}, []string{"other 9.000", "dense 0.000", "words 0.000"}},
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
	t.Run("by id", func(t *testing.T) {
		res, err := conn.QueryByVectorId(t.Context(), &pinecone.QueryByVectorIdRequest{VectorId: "words", TopK: 3})
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff([]string{"words 31.000", "dense 6.000", "other 2.000"}, scores(res)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestQueryIncludes(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	v := hybrid("a", []float32{1}, []uint32{2}, []float32{3})
	v.Metadata = object(t, map[string]any{"text": "x"})
	upsert(t, conn, v)
	for _, include := range []struct{ values, metadata bool }{{}, {values: true}, {metadata: true}, {true, true}} {
		res, err := conn.QueryByVectorValues(t.Context(), &pinecone.QueryByVectorValuesRequest{
			Vector: []float32{1}, TopK: 1, IncludeValues: include.values, IncludeMetadata: include.metadata,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := res.Matches[0].Vector
		if has := got.Values != nil && got.SparseValues != nil; has != include.values {
			t.Errorf("%+v: values %v, sparse %v", include, got.Values, got.SparseValues)
		}
		if has := got.Metadata != nil; has != include.metadata {
			t.Errorf("%+v: metadata %v", include, got.Metadata)
		}
	}
}

func TestQueryFindsNothing(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	query := pinecone.QueryByVectorValuesRequest{Vector: []float32{1, 2}, TopK: 3}
	if got := matches(t, conn, query); got != nil {
		t.Errorf("in an index without a dimension: %v", got)
	}
	upsert(t, conn, vector("a", 1, 2))
	if got := matches(t, conn.WithNamespace("missing"), query); got != nil {
		t.Errorf("in a missing namespace: %v", got)
	}
	res, err := conn.QueryByVectorId(t.Context(), &pinecone.QueryByVectorIdRequest{VectorId: "missing", TopK: 3})
	if err != nil || len(res.Matches) > 0 {
		t.Errorf("by a missing id: %v, %v", res, err)
	}
}

// naive answers the query by sorting everything. The vectors hold small whole numbers: their products are exact.
func naive(rows []*pinecone.Vector, query []float32, k int, metric pineconelocal.Metric) []string {
	score := func(v *pinecone.Vector) float64 {
		var dot, square float64
		for i, x := range *v.Values {
			dot += float64(x) * float64(query[i])
			square += math.Pow(float64(x)-float64(query[i]), 2)
		}
		if metric == pineconelocal.Euclidean {
			return -square
		}
		return dot
	}
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b *pinecone.Vector) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), strings.Compare(a.Id, b.Id))
	})
	var ids []string
	for _, v := range rows[:min(k, len(rows))] {
		ids = append(ids, v.Id)
	}
	return ids
}

func TestQueryEqualsFullSort(t *testing.T) {
	for _, metric := range []pineconelocal.Metric{pineconelocal.DotProduct, pineconelocal.Euclidean} {
		t.Run(string(metric), func(t *testing.T) {
			conn := connect(t, pineconelocal.Options{Dimension: 5, Metric: metric})
			run := 0
			rapid.Check(t, func(rt *rapid.T) {
				run++
				ns := conn.WithNamespace(fmt.Sprintf("run-%d", run))
				values := rapid.SliceOfN(rapid.Map(rapid.IntRange(-3, 3), func(i int) float32 { return float32(i) }), 5, 5)
				stored := values.Filter(func(v []float32) bool { return slices.Max(v) != 0 || slices.Min(v) != 0 })
				var rows []*pinecone.Vector
				for i, v := range rapid.SliceOfN(stored, 1, 60).Draw(rt, "rows") {
					rows = append(rows, vector(fmt.Sprintf("id-%d", i), v...))
				}
				upsert(t, ns, rows...)
				query, k := values.Draw(rt, "query"), rapid.IntRange(1, 70).Draw(rt, "k")
				got := matches(t, ns, pinecone.QueryByVectorValuesRequest{Vector: query, TopK: uint32(k)})
				if diff := gocmp.Diff(naive(rows, query, k, metric), got); diff != "" {
					rt.Fatalf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestQueryEqualsFullSortInParallel has enough rows to be scanned by several workers, and many equal scores.
func TestQueryEqualsFullSortInParallel(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	var rows []*pinecone.Vector
	for i := range 9_000 {
		rows = append(rows, vector(fmt.Sprintf("id-%d", i*7919%9_000), float32(i%13-6), float32(i%7-3), 1))
	}
	for batch := range slices.Chunk(rows, 1_000) {
		upsert(t, conn, batch...)
	}
	query := []float32{2, -1, 1}
	for _, k := range []int{1, 10, 1_000, 10_000} {
		got := matches(t, conn, pinecone.QueryByVectorValuesRequest{Vector: query, TopK: uint32(k)})
		if diff := gocmp.Diff(naive(rows, query, k, pineconelocal.DotProduct), got); diff != "" {
			t.Errorf("top %d (-want +got):\n%s", k, diff)
		}
	}
}
