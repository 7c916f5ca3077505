package pineconelocal_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

func TestUpsertReplaces(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	first := hybrid("a", []float32{1}, []uint32{1}, []float32{1})
	first.Metadata = object(t, map[string]any{"k": "v"})
	upsert(t, conn, first)
	upsert(t, conn, vector("b", 5), vector("a", 2), vector("a", 3)) // the last one of an id stays
	got := fetched(t, conn, "a", "b", "missing")
	if len(got) != 2 {
		t.Fatalf("fetched %d records, want 2", len(got))
	}
	if diff := cmp.Diff(&pinecone.Vector{Id: "a", Values: &[]float32{3}}, got["a"], cmp.AllowUnexported()); diff != "" {
		t.Errorf("nothing of the replaced record may stay (-want +got):\n%s", diff)
	}
}

func TestUpsertFixesTheDimension(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	_, err := conn.UpsertVectors(t.Context(), []*pinecone.Vector{vector("a", 1, 2), vector("b", 1)})
	expect(t, err, "Vector dimension 1 does not match the dimension of the index 2")
	upsert(t, conn, vector("a", 1, 2, 3)) // what was refused has fixed nothing
	_, err = conn.UpsertVectors(t.Context(), []*pinecone.Vector{vector("a", 1, 2)})
	expect(t, err, "Vector dimension 2 does not match the dimension of the index 3")
}

func TestUpdate(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	v := hybrid("a", []float32{1, 2}, []uint32{1}, []float32{1})
	v.Metadata = object(t, map[string]any{"kept": "x", "changed": 1})
	upsert(t, conn, v, vector("plain", 1, 1))
	for _, req := range []pinecone.UpdateVectorRequest{
		{Id: "a", Values: []float32{3, 4}},
		{Id: "a", SparseValues: &pinecone.SparseValues{Indices: []uint32{9}, Values: []float32{8}}},
		{Id: "a", Metadata: object(t, map[string]any{"changed": 2, "new": true})},
		{Id: "plain", Metadata: object(t, map[string]any{"new": true})},
		{Id: "missing", Values: []float32{3, 4}},
	} {
		if err := conn.UpdateVector(t.Context(), &req); err != nil {
			t.Fatalf("update %+v: %v", req, err)
		}
	}
	got := fetched(t, conn, "a", "plain", "missing")
	if len(got) != 2 {
		t.Errorf("an update of a missing record made one: %v", got)
	}
	if diff := cmp.Diff([]float32{3, 4}, *got["a"].Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&pinecone.SparseValues{Indices: []uint32{9}, Values: []float32{8}}, got["a"].SparseValues); diff != "" {
		t.Errorf("sparse values (-want +got):\n%s", diff)
	}
	wantMetadata := map[string]any{"kept": "x", "changed": 2.0, "new": true}
	if diff := cmp.Diff(wantMetadata, got["a"].Metadata.AsMap()); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"new": true}, got["plain"].Metadata.AsMap()); diff != "" {
		t.Errorf("first metadata (-want +got):\n%s", diff)
	}
	if got := matches(t, conn, pinecone.QueryByVectorValuesRequest{Vector: []float32{1, 1}, TopK: 1}); got[0] != "a" {
		t.Errorf("the updated values are not what is searched: %v", got)
	}
}

func TestUpdateRefused(t *testing.T) {
	conn := connect(t, pineconelocal.Options{})
	full := vector("full", 1, 2)
	full.Metadata = object(t, map[string]any{"old": string(make([]byte, 5_000))})
	upsert(t, conn, full)
	for name, tc := range map[string]struct {
		req  pinecone.UpdateVectorRequest
		want string
	}{
		"dimension": {pinecone.UpdateVectorRequest{Id: "full", Values: []float32{1}}, "Vector dimension 1 does not match the dimension of the index 2"},
		"zeros":     {pinecone.UpdateVectorRequest{Id: "full", Values: []float32{0, 0}}, "Dense vectors must contain at least one non-zero value. Vector ID 'full' contains only zeros"},
		"metadata":  {pinecone.UpdateVectorRequest{Id: "full", Metadata: object(t, map[string]any{"k": nil})}, "Metadata value must be a string, number, boolean or list of strings, got 'null' for field 'k'"},
		"nothing":   {pinecone.UpdateVectorRequest{Id: "full", Values: []float32{}}, "At least one of 'values', 'sparse_values' and 'set_metadata' must be given"},
		"too much when merged": {
			pinecone.UpdateVectorRequest{Id: "full", Metadata: object(t, map[string]any{"new": string(make([]byte, 2_000))})},
			"Metadata size is 42019 bytes, which exceeds the limit of 40960 bytes per vector",
		}, // a null is \u0000 in JSON
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, conn.UpdateVector(t.Context(), &tc.req), tc.want)
		})
	}
}

func TestUpdateByMetadata(t *testing.T) {
	conn := library(t)
	update := func(dryRun bool, filter map[string]any) (int32, error) {
		res, err := conn.UpdateVectorsByMetadata(context.Background(), &pinecone.UpdateVectorsByMetadataRequest{
			Filter: object(t, filter), Metadata: object(t, map[string]any{"mark": "x"}), DryRun: &dryRun,
		})
		if err != nil {
			return 0, err
		}
		return res.MatchedRecords, nil
	}
	marked := func() []string {
		return matches(t, conn, pinecone.QueryByVectorValuesRequest{
			Vector: []float32{1}, TopK: 10, MetadataFilter: object(t, map[string]any{"mark": "x"}),
		})
	}
	comedies := map[string]any{"genre": "comedy"}
	if n, err := update(true, comedies); n != 2 || err != nil || marked() != nil {
		t.Errorf("dry run: %d matched, %v; marked %v", n, err, marked())
	}
	if n, err := update(false, comedies); n != 2 || err != nil {
		t.Errorf("update: %d matched, %v", n, err)
	}
	if diff := cmp.Diff([]string{"both", "comedy"}, marked()); diff != "" {
		t.Errorf("marked (-want +got):\n%s", diff)
	}
	if got := fetched(t, conn, "comedy")["comedy"].Metadata.AsMap()["genre"]; got != "comedy" {
		t.Errorf("the other fields must stay, genre is %v", got)
	}
	_, err := update(false, map[string]any{})
	expect(t, err, "A non-empty metadata filter must be given")
	if n, err := conn.WithNamespace("missing").UpdateVectorsByMetadata(t.Context(), &pinecone.UpdateVectorsByMetadataRequest{
		Filter: object(t, comedies), Metadata: object(t, comedies),
	}); err != nil || n.MatchedRecords != 0 {
		t.Errorf("in a missing namespace: %v, %v", n, err)
	}
}

func TestDelete(t *testing.T) {
	all := []string{"bare", "both", "comedy", "drama", "strings"}
	for name, tc := range map[string]struct {
		run  func(*testing.T, *pinecone.IndexConnection) error
		left []string
	}{
		"by id": {func(t *testing.T, c *pinecone.IndexConnection) error {
			return c.DeleteVectorsById(t.Context(), []string{"bare", "drama", "missing"})
		}, []string{"both", "comedy", "strings"}},
		"by filter": {func(t *testing.T, c *pinecone.IndexConnection) error {
			return c.DeleteVectorsByFilter(t.Context(), object(t, map[string]any{"year": map[string]any{"$exists": true}}))
		}, []string{"bare"}},
		"all": {func(t *testing.T, c *pinecone.IndexConnection) error {
			return c.DeleteAllVectorsInNamespace(t.Context())
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			conn := library(t)
			upsert(t, conn.WithNamespace("other"), vector("bare", 1))
			for range 2 { // again, on what is gone
				if err := tc.run(t, conn); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.left, existing(t, conn, all...)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			if got := existing(t, conn.WithNamespace("other"), "bare"); len(got) != 1 {
				t.Error("another namespace lost a record")
			}
		})
	}
}

func TestDeleteRefused(t *testing.T) {
	conn := library(t)
	missing := conn.WithNamespace("missing")
	for name, err := range map[string]error{
		"by id":     missing.DeleteVectorsById(t.Context(), []string{"a"}),
		"by filter": missing.DeleteVectorsByFilter(t.Context(), object(t, map[string]any{"a": 1})),
		"all":       missing.DeleteAllVectorsInNamespace(t.Context()),
		"namespace": conn.DeleteNamespace(t.Context(), "missing"),
	} {
		if got := refusal(err); got != "NotFound: Namespace not found" {
			t.Errorf("%s of a missing namespace: %s", name, got)
		}
	}
	expect(t, conn.DeleteVectorsByFilter(t.Context(), object(t, nil)), "A non-empty metadata filter must be given")
}
