package pineconelocal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

func TestUpsertReplaces(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	first := hybrid("a", []float32{1}, []uint32{1}, []float32{1})
	first.Metadata = object(t, map[string]any{"k": "v"})
	upsert(t, conn, first)
	upsert(t, conn, dense("b", 5), dense("a", 2), dense("a", 3)) // the last one of an id stays
	got := fetch(t, conn, "a", "b", "missing")
	if len(got) != 2 {
		t.Fatalf("fetched %d records, want 2", len(got))
	}
	if diff := cmp.Diff(&pinecone.Vector{Id: "a", Values: &[]float32{3}}, got["a"]); diff != "" {
		t.Errorf("nothing of the replaced record may stay (-want +got):\n%s", diff)
	}
}

func TestUpsertFixesTheDimension(t *testing.T) {
	t.Parallel()
	conn := connect(t, pineconelocal.Options{})
	_, err := conn.UpsertVectors(t.Context(), []*pinecone.Vector{dense("a", 1, 2), dense("b", 1)})
	wantInvalid(t, err, "Vector dimension 1 does not match the dimension of the index 2")
	upsert(t, conn, dense("a", 1, 2, 3)) // the refused call has fixed nothing
	_, err = conn.UpsertVectors(t.Context(), []*pinecone.Vector{dense("a", 1, 2)})
	wantInvalid(t, err, "Vector dimension 2 does not match the dimension of the index 3")
}

func TestPlanLimitsNamespaces(t *testing.T) {
	t.Parallel()
	opts := pineconelocal.Options{MaxNamespaces: 2, DataDir: t.TempDir()}
	s := build(t, opts)
	conn := dial(t, serve(t, s))
	upsert(t, conn.WithNamespace("a"), dense("x", 1))
	upsert(t, conn.WithNamespace("b"), dense("x", 1))
	refused := func(conn *pinecone.IndexConnection, name string) {
		t.Helper()
		_, err := conn.WithNamespace(name).UpsertVectors(t.Context(), []*pinecone.Vector{dense("x", 1)})
		wantStatus(t, err, "PermissionDenied: Request failed. You've reached the max namespaces allowed in "+
			"serverless index local. To add more namespaces, upgrade your plan.")
	}
	refused(conn, "c")
	upsert(t, conn.WithNamespace("a"), dense("y", 1)) // those that exist go on
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	conn = connect(t, opts)
	refused(conn, "c")
	if err := conn.DeleteNamespace(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	upsert(t, conn.WithNamespace("c"), dense("x", 1))
	refused(conn, "a")
}

func TestDelete(t *testing.T) {
	t.Parallel()
	conn := library(t)
	upsert(t, conn.WithNamespace("other"), dense("bare", 1))
	for range 2 { // the second time, the records are gone
		if err := conn.DeleteVectorsById(t.Context(), []string{"bare", "drama", "missing"}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"both", "comedy", "strings"}
	if diff := cmp.Diff(want, existing(t, conn, "bare", "both", "comedy", "drama", "strings")); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if got := existing(t, conn.WithNamespace("other"), "bare"); len(got) != 1 {
		t.Error("another namespace lost a record")
	}
}

func TestDeleteRefused(t *testing.T) {
	t.Parallel()
	conn := library(t)
	missing := conn.WithNamespace("missing")
	for name, err := range map[string]error{
		"by id":     missing.DeleteVectorsById(t.Context(), []string{"a"}),
		"namespace": conn.DeleteNamespace(t.Context(), "missing"),
	} {
		if got := statusOf(err); got != "NotFound: Namespace not found" {
			t.Errorf("%s of a missing namespace: %s", name, got)
		}
	}
}
