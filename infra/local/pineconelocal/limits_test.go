package pineconelocal_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/internal/testing/check"
)

// upTo returns n sparse indices and values.
func upTo(n int) (indices []uint32, values []float32) {
	for i := range n {
		indices, values = append(indices, uint32(i)), append(values, 1)
	}
	return indices, values
}

// TestUpsertLimits sends as many vectors as the limit allows, which must pass, and more.
func TestUpsertLimits(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	for n, want := range map[int]string{
		0:     "At least one vector must be given",
		1_000: "",
		1_001: "Request has 1001 vectors, which exceeds the limit of 1000",
	} {
		_, err := conn.UpsertVectors(t.Context(), copies(n, 1, 0))
		wantInvalid(t, err, want)
	}
}

// TestVectorLimits upserts a vector at each limit, which must pass, and beyond it.
func TestVectorLimits(t *testing.T) {
	t.Parallel()
	withID := func(id string) *pinecone.Vector { return dense(id, 1, 0) }
	withMetadata := func(fields map[string]any) *pinecone.Vector {
		v := dense("a", 1, 0)
		v.Metadata = object(t, fields)
		return v
	}
	withText := func(bytes int) *pinecone.Vector {
		return withMetadata(map[string]any{"k": strings.Repeat("x", bytes-len(`{"k":""}`))})
	}
	withSparse := func(indices []uint32, values []float32) *pinecone.Vector {
		return hybrid("a", []float32{1, 0}, indices, values)
	}
	const wantScalar = "Metadata value must be a string, number, boolean or list of strings, got "
	for name, tc := range map[string]struct {
		vector *pinecone.Vector
		want   string // empty where it passes
	}{
		"long id": {withID(strings.Repeat("x", 512)), ""},
		"too long id": {
			withID(strings.Repeat("x", 513)), "Vector ID has 513 characters, which exceeds the limit of 512",
		},
		"no id": {withID(""), "Vector ID must not be empty"},
		"zeros": {
			dense("a", 0, 0),
			"Dense vectors must contain at least one non-zero value. Vector ID 'a' contains only zeros",
		},
		"not a number": {dense("a", float32(math.NaN()), 0), "Vector values must be finite numbers, got NaN"},
		"all metadata types": {
			withMetadata(map[string]any{"s": "x", "n": 1.5, "b": true, "l": []any{"x"}, "e": []any{}}), "",
		},
		"null metadata":     {withMetadata(map[string]any{"k": nil}), wantScalar + "'null' for field 'k'"},
		"40 KB of metadata": {withText(40_960), ""},
		"more than 40 KB of metadata": {
			withText(40_961), "Metadata size is 40961 bytes, which exceeds the limit of 40960 bytes per vector",
		},
		"2,048 sparse values": {withSparse(upTo(2_048)), ""},
		"2,049 sparse values": {
			withSparse(upTo(2_049)), "Sparse vector has 2049 values, which exceeds the limit of 2048",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, pineconelocal.Options{Dimension: 2})
			_, err := conn.UpsertVectors(t.Context(), []*pinecone.Vector{withID("before"), tc.vector})
			wantInvalid(t, err, tc.want)
			if left := stats(t, conn).Namespaces; tc.want != "" && len(left) > 0 {
				t.Errorf("a refused upsert left %v", left)
			}
		})
	}
}

func TestRequestSize(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	values := slices.Repeat([]float32{1}, 1_000) // 4 KB
	for name, tc := range map[string]struct {
		vectors int
		want    string
	}{
		"2 MB":       {500, "OK: "},
		"over 2 MB":  {530, "InvalidArgument: Request size 3MB exceeds the maximum supported size of 2MB"},
		"over 4 MiB": {1_000 + 60, "OutOfRange: Error, message length too large: found "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := conn.UpsertVectors(t.Context(), copies(tc.vectors, values...))
			if got := statusOf(err); !strings.HasPrefix(got, tc.want) {
				t.Errorf("got  %s\nwant %s…", got, tc.want)
			}
		})
	}
}

func TestQueryResultLimit(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	vectors := copies(1_000, 1)
	for _, v := range vectors {
		v.Metadata = object(t, map[string]any{"text": strings.Repeat("x", 4_300)})
	}
	for batch := range slices.Chunk(vectors, 100) {
		upsert(t, conn, batch...)
	}
	request := pinecone.QueryByVectorValuesRequest{Vector: []float32{1}, TopK: 900, IncludeMetadata: true}
	check.Equal(t, 900, len(query(t, conn, request)), "3.9 MB of metadata: matches, want 900")
	request.TopK = 1_000
	_, err := conn.QueryByVectorValues(t.Context(), &request)
	if got := statusOf(err); !strings.HasPrefix(got, "InvalidArgument: Query result of ") {
		t.Errorf("4.3 MB of metadata: %s", got)
	}
}
