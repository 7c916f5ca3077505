package pineconelocal_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/internal/testing/check"
)

// run serves the index of a folder while f runs, as one run of the stack does.
func run(t *testing.T, dir string, f func(*pinecone.IndexConnection)) {
	t.Helper()
	s := build(t, pineconelocal.Options{DataDir: dir})
	f(dial(t, serve(t, s)))
	check.OK(t, s.Close())
}

func journalFile(dir string) string { return filepath.Join(dir, "writes") }

func readJournal(t *testing.T, dir string) []byte {
	t.Helper()
	return check.Got(os.ReadFile(journalFile(dir)))(t)
}

// writeEverything makes each kind of write, and leaves what wantWritten checks.
func writeEverything(t *testing.T, conn *pinecone.IndexConnection) {
	t.Helper()
	a := hybrid("a", []float32{3, 4}, []uint32{4}, []float32{5})
	a.Metadata = object(t, map[string]any{"k": "v"})
	upsert(t, conn, dense("a", 1, 1), dense("b", 1, 1), dense("deleted", 1, 1))
	upsert(t, conn, a)
	upsert(t, conn.WithNamespace("dropped"), dense("x", 1, 1))
	upsert(t, conn.WithNamespace("emptied"), dense("x", 1, 1))
	ctx := t.Context()
	check.OK(t, errors.Join(
		conn.DeleteVectorsById(ctx, []string{"deleted"}),
		conn.WithNamespace("emptied").DeleteVectorsById(ctx, []string{"x"}),
		conn.DeleteNamespace(ctx, "dropped")))
}

func wantWritten(t *testing.T, conn *pinecone.IndexConnection) {
	t.Helper()
	got := fetch(t, conn, "a", "b", "deleted")
	if len(got) != 2 || got["a"] == nil || got["b"] == nil {
		t.Fatalf("records %v, want a and b", got)
	}
	want := hybrid("a", []float32{3, 4}, []uint32{4}, []float32{5})
	check.Same(t, *want.Values, *got["a"].Values, "values")
	check.Same(t, want.SparseValues, got["a"].SparseValues, "sparse values")
	check.Same(t, map[string]any{"k": "v"}, got["a"].Metadata.AsMap(), "metadata")
	counts := map[string]uint32{}
	for name, ns := range stats(t, conn).Namespaces {
		counts[name] = ns.VectorCount
	}
	check.Same(t, map[string]uint32{"__default__": 2, "emptied": 0}, counts, "namespaces")
}

// TestDataDirKeepsTheIndex also copies the file of a server that still runs, which is what a killed process leaves, and
// cuts off the last byte of it, as a crash may do.
func TestDataDirKeepsTheIndex(t *testing.T) {
	t.Parallel()
	dir, crashed := t.TempDir(), t.TempDir()
	run(t, dir, func(conn *pinecone.IndexConnection) {
		writeEverything(t, conn)
		check.OK(t, conn.DeleteVectorsById(t.Context(), []string{"a"}))
		whole := readJournal(t, dir)
		check.OK(t, os.WriteFile(journalFile(crashed), whole[:len(whole)-1], 0o600))
	})
	run(t, dir, func(conn *pinecone.IndexConnection) {
		if got := existing(t, conn, "a", "b"); len(got) != 1 {
			t.Errorf("records %v, want b", got)
		}
	})
	run(t, crashed, func(conn *pinecone.IndexConnection) {
		wantWritten(t, conn)
		upsert(t, conn, dense("after", 1, 1))
	})
	run(t, crashed, func(conn *pinecone.IndexConnection) {
		check.Same(t, []string{"a", "after", "b"}, existing(t, conn, "a", "b", "after"), "records")
	})
}
