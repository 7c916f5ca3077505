package pineconelocal_test

import (
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/internal/testing/check"
)

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
	check.OK(t, s.Close())
	conn = connect(t, opts)
	refused(conn, "c")
	check.OK(t, conn.DeleteNamespace(t.Context(), "a"))
	upsert(t, conn.WithNamespace("c"), dense("x", 1))
	refused(conn, "a")
}

func TestDeleteRefused(t *testing.T) {
	t.Parallel()
	conn := library(t)
	missing := conn.WithNamespace("missing")
	for name, err := range map[string]error{
		"by id":     missing.DeleteVectorsById(t.Context(), []string{"a"}),
		"namespace": conn.DeleteNamespace(t.Context(), "missing"),
	} {
		check.Equal(t, "NotFound: Namespace not found", statusOf(err), "%s of a missing namespace", name)
	}
}
