package pineconelocal_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

const sparseRefused = "InvalidArgument: Index configuration does not support sparse values" +
	" - only indexes that are sparse or using dotproduct are supported"

func numbered(n int, values ...float32) []*pinecone.Vector {
	out := make([]*pinecone.Vector, n)
	for i := range out {
		out[i] = vector(fmt.Sprintf("id-%d", i), values...)
	}
	return out
}

func ids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("id-%d", i)
	}
	return out
}

func upTo(n int) (indices []uint32, values []float32) {
	for i := range n {
		indices, values = append(indices, uint32(i)), append(values, 1)
	}
	return indices, values
}

// TestUpsertLimits sends each upsert at the limit, which must pass, and beyond it.
func TestUpsertLimits(t *testing.T) {
	withID := func(id string) []*pinecone.Vector { return []*pinecone.Vector{vector(id, 1, 0)} }
	withMetadata := func(fields map[string]any) []*pinecone.Vector {
		v := vector("a", 1, 0)
		v.Metadata = object(t, fields)
		return []*pinecone.Vector{v}
	}
	withSparse := func(indices []uint32, values []float32) []*pinecone.Vector {
		return []*pinecone.Vector{hybrid("a", []float32{1, 0}, indices, values)}
	}
	overhead := len(`{"k":""}`)
	manyIndices, manyValues := upTo(2_048)
	for name, tc := range map[string]struct {
		vectors []*pinecone.Vector
		want    string // empty where it passes
	}{
		"1,000 vectors":       {numbered(1_000, 1, 0), ""},
		"1,001 vectors":       {numbered(1_001, 1, 0), "Request has 1001 vectors, which exceeds the limit of 1000"},
		"no vectors":          {nil, "At least one vector must be given"},
		"long id":             {withID(strings.Repeat("x", 512)), ""},
		"too long id":         {withID(strings.Repeat("x", 513)), "Vector ID has 513 characters, which exceeds the limit of 512"},
		"no id":               {withID(""), "Vector ID must not be empty"},
		"id with an accent":   {withID("Braña"), "Vector ID must be ASCII, but got 'Braña'"},
		"id with a null":      {withID("a\x00"), "Vector ID must not contain null character"},
		"dimension":           {[]*pinecone.Vector{vector("a", 1)}, "Vector dimension 1 does not match the dimension of the index 2"},
		"no values":           {[]*pinecone.Vector{{Id: "a"}}, "Vector dimension 0 does not match the dimension of the index 2"},
		"zeros":               {[]*pinecone.Vector{vector("a", 0, 0)}, "Dense vectors must contain at least one non-zero value. Vector ID 'a' contains only zeros"},
		"not a number":        {[]*pinecone.Vector{vector("a", float32(math.NaN()), 0)}, "Vector values must be finite numbers, got NaN"},
		"infinite":            {[]*pinecone.Vector{vector("a", float32(math.Inf(1)), 0)}, "Vector values must be finite numbers, got +Inf"},
		"all metadata types":  {withMetadata(map[string]any{"s": "x", "n": 1.5, "b": true, "l": []any{"x"}, "e": []any{}}), ""},
		"null metadata":       {withMetadata(map[string]any{"k": nil}), "Metadata value must be a string, number, boolean or list of strings, got 'null' for field 'k'"},
		"nested metadata":     {withMetadata(map[string]any{"k": map[string]any{"x": 1}}), `Metadata value must be a string, number, boolean or list of strings, got '{"x":1}' for field 'k'`},
		"list of numbers":     {withMetadata(map[string]any{"k": []any{1758694138, 22, 33}}), "Metadata value must be a string, number, boolean or list of strings, got '[1758694138,22,3...' for field 'k'"},
		"metadata infinite":   {withMetadata(map[string]any{"k": math.Inf(1)}), `Metadata value must be a string, number, boolean or list of strings, got '"Infinity"' for field 'k'`},
		"operator as a field": {withMetadata(map[string]any{"$k": 1}), "Metadata field name '$k' must not be empty nor start with '$'"},
		"40 KB metadata":      {withMetadata(map[string]any{"k": strings.Repeat("x", 40_960-overhead)}), ""},
		"over 40 KB":          {withMetadata(map[string]any{"k": strings.Repeat("x", 40_961-overhead)}), "Metadata size is 40961 bytes, which exceeds the limit of 40960 bytes per vector"},
		"2,048 sparse":        {withSparse(manyIndices, manyValues), ""},
		"2,049 sparse":        {withSparse(upTo(2_049)), "Sparse vector has 2049 values, which exceeds the limit of 2048"},
		"no sparse":           {withSparse(nil, nil), "Sparse vector must contain at least one value"},
		"uneven sparse":       {withSparse([]uint32{1, 2}, []float32{1}), "Sparse vector has 2 indices and 1 values, they must be as many"},
		"sparse twice":        {withSparse([]uint32{5, 5}, []float32{1, 1}), "Sparse vector must not contain duplicate indices, got 5 twice"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, pineconelocal.Options{Dimension: 2})
			_, err := conn.UpsertVectors(t.Context(), tc.vectors)
			expect(t, err, tc.want)
			if stats := describe(t, conn); tc.want != "" && stats.TotalVectorCount > 0 {
				t.Errorf("a refused upsert left %d records", stats.TotalVectorCount)
			}
		})
	}
}

// expect compares with the text of an InvalidArgument, or no error.
func expect(t *testing.T, err error, want string) {
	t.Helper()
	if want != "" {
		want = "InvalidArgument: " + want
	} else {
		want = "OK: "
	}
	if got := refusal(err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func describe(t *testing.T, conn *pinecone.IndexConnection) *pinecone.DescribeIndexStatsResponse {
	t.Helper()
	stats, err := conn.DescribeIndexStats(context.Background())
	if err != nil {
		t.Fatalf("describe index stats: %v", err)
	}
	return stats
}

func TestRequestSize(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	dense := slices.Repeat([]float32{1}, 1_000) // 4 KB
	for name, tc := range map[string]struct {
		vectors int
		want    string
	}{
		"2 MB":       {500, "OK: "},
		"over 2 MB":  {530, "InvalidArgument: Request size 3MB exceeds the maximum supported size of 2MB"},
		"over 4 MiB": {1_000 + 60, "OutOfRange: Error, message length too large: found "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := conn.UpsertVectors(t.Context(), numbered(tc.vectors, dense...))
			if got := refusal(err); !strings.HasPrefix(got, tc.want) {
				t.Errorf("got  %s\nwant %s…", got, tc.want)
			}
		})
	}
}

func TestQueryLimits(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	upsert(t, conn, vector("a", 1, 0))
	type request = pinecone.QueryByVectorValuesRequest
	one := []float32{1, 0}
	manyIndices, manyValues := upTo(2_049)
	for name, tc := range map[string]struct {
		request request
		want    string
	}{
		"10,000":               {request{Vector: one, TopK: 10_000}, ""},
		"10,001":               {request{Vector: one, TopK: 10_001}, "top_k must be between 1 and 10000, got 10001"},
		"none":                 {request{Vector: one}, "top_k must be between 1 and 10000, got 0"},
		"1,000 with values":    {request{Vector: one, TopK: 1_000, IncludeValues: true}, ""},
		"1,001 with values":    {request{Vector: one, TopK: 1_001, IncludeValues: true}, "top_k must be between 1 and 1000 when values or metadata are included, got 1001"},
		"1,001 with metadata":  {request{Vector: one, TopK: 1_001, IncludeMetadata: true}, "top_k must be between 1 and 1000 when values or metadata are included, got 1001"},
		"dimension":            {request{Vector: []float32{1}, TopK: 1}, "Vector dimension 1 does not match the dimension of the index 2"},
		"no vector":            {request{TopK: 1}, "Vector dimension 0 does not match the dimension of the index 2"},
		"not a number":         {request{Vector: []float32{float32(math.NaN()), 1}, TopK: 1}, "Vector values must be finite numbers, got NaN"},
		"zeros are a question": {request{Vector: []float32{0, 0}, TopK: 1}, ""},
		"2,049 sparse values": {
			request{Vector: one, TopK: 1, SparseValues: &pinecone.SparseValues{Indices: manyIndices, Values: manyValues}},
			"Sparse vector has 2049 values, which exceeds the limit of 2048",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := conn.QueryByVectorValues(t.Context(), &tc.request)
			expect(t, err, tc.want)
		})
	}
	t.Run("no vector and no dimension", func(t *testing.T) {
		_, err := connect(t, pineconelocal.Options{}).QueryByVectorValues(t.Context(), &request{TopK: 1})
		expect(t, err, "Either 'vector' or 'id' must be provided")
	})
}

func TestQueryResultLimit(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	for batch := range slices.Chunk(numbered(1_000, slices.Repeat([]float32{1}, 1_100)...), 100) {
		upsert(t, conn, batch...)
	}
	query := pinecone.QueryByVectorValuesRequest{
		Vector: slices.Repeat([]float32{1}, 1_100), TopK: 900, IncludeValues: true,
	}
	if got := len(matches(t, conn, query)); got != 900 {
		t.Errorf("4.0 MB of values: %d matches, want 900", got)
	}
	query.TopK = 1_000
	_, err := conn.QueryByVectorValues(t.Context(), &query)
	if got := refusal(err); !strings.HasPrefix(got, "InvalidArgument: Query result of ") {
		t.Errorf("4.4 MB of values: %s", got)
	}
}

func TestSparseNeedsDotProduct(t *testing.T) {
	for _, metric := range []pineconelocal.Metric{pineconelocal.Cosine, pineconelocal.Euclidean} {
		t.Run(string(metric), func(t *testing.T) {
			conn := connect(t, pineconelocal.Options{Metric: metric})
			upsert(t, conn, vector("a", 1))
			sparse := &pinecone.SparseValues{Indices: []uint32{1}, Values: []float32{1}}
			_, upserted := conn.UpsertVectors(t.Context(), []*pinecone.Vector{hybrid("b", []float32{1}, sparse.Indices, sparse.Values)})
			_, queried := conn.QueryByVectorValues(t.Context(),
				&pinecone.QueryByVectorValuesRequest{Vector: []float32{1}, TopK: 1, SparseValues: sparse})
			updated := conn.UpdateVector(t.Context(), &pinecone.UpdateVectorRequest{Id: "a", SparseValues: sparse})
			for call, err := range map[string]error{"upsert": upserted, "query": queried, "update": updated} {
				if got := refusal(err); got != sparseRefused {
					t.Errorf("%s: %s", call, got)
				}
			}
		})
	}
}

func TestIDCountLimits(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	upsert(t, conn, vector("id-0", 1))
	for n, want := range map[int]string{
		1_000: "",
		1_001: "Request has 1001 IDs, which exceeds the limit of 1000",
	} {
		_, err := conn.FetchVectors(t.Context(), ids(n))
		expect(t, err, want)
		expect(t, conn.DeleteVectorsById(t.Context(), ids(n)), want)
	}
	_, err := conn.FetchVectors(t.Context(), nil)
	expect(t, err, "At least one ID must be given")
	expect(t, conn.DeleteVectorsById(t.Context(), nil), "Exactly one of 'ids', 'delete_all' and 'filter' must be given")
}

func TestNamespaceNameLimits(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	for name, want := range map[string]string{
		strings.Repeat("n", 512): "",
		strings.Repeat("n", 513): "Namespace has 513 characters, which exceeds the limit of 512",
		"Braña":                  "Namespace must be ASCII without null characters, but got 'Braña'",
	} {
		ns := conn.WithNamespace(name)
		_, upserted := ns.UpsertVectors(t.Context(), numbered(1, 1))
		_, queried := ns.QueryByVectorValues(t.Context(), &pinecone.QueryByVectorValuesRequest{Vector: []float32{1}, TopK: 1})
		_, fetched := ns.FetchVectors(t.Context(), []string{"a"})
		_, listed := ns.ListVectors(t.Context(), &pinecone.ListVectorsRequest{})
		updated := ns.UpdateVector(t.Context(), &pinecone.UpdateVectorRequest{Id: "a", Values: []float32{1}})
		deleted := ns.DeleteAllVectorsInNamespace(t.Context())
		for _, err := range []error{upserted, queried, fetched, listed, updated, deleted} {
			expect(t, err, want)
		}
	}
}

func TestPageLimits(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	list := func(limit uint32) error {
		_, err := conn.ListVectors(t.Context(), &pinecone.ListVectorsRequest{Limit: &limit})
		return err
	}
	namespaces := func(limit uint32) error {
		_, err := conn.ListNamespaces(t.Context(), &pinecone.ListNamespacesParams{Limit: &limit})
		return err
	}
	byMetadata := func(limit uint32) error {
		_, err := conn.FetchVectorsByMetadata(t.Context(), &pinecone.FetchVectorsByMetadataRequest{
			Limit: &limit, Filter: object(t, map[string]any{"a": 1}),
		})
		return err
	}
	for name, tc := range map[string]struct {
		call func(uint32) error
		most uint32
	}{"list": {list, 100}, "list namespaces": {namespaces, 100}, "fetch by metadata": {byMetadata, 1_000}} {
		t.Run(name, func(t *testing.T) {
			expect(t, tc.call(1), "")
			expect(t, tc.call(tc.most), "")
			expect(t, tc.call(tc.most+1), fmt.Sprintf("limit must be between 1 and %d, got %d", tc.most, tc.most+1))
			expect(t, tc.call(0), fmt.Sprintf("limit must be between 1 and %d, got 0", tc.most))
		})
	}
}
