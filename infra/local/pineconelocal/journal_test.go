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
	got, _ := list(t, conn, "", 100)
	check.Same(t, []string{"a", "b"}, got, "records")
	for _, of := range []struct {
		dense  []float32
		sparse *pinecone.SparseValues
		score  float32
	}{
		{[]float32{1, 0}, nil, 3},
		{[]float32{0, 1}, nil, 4},
		{[]float32{0, 0}, &pinecone.SparseValues{Indices: []uint32{4}, Values: []float32{1}}, 5},
		{[]float32{0, 0}, &pinecone.SparseValues{Indices: []uint32{3}, Values: []float32{1}}, 0},
	} {
		best := check.Got(conn.QueryByVectorValues(t.Context(), &pinecone.QueryByVectorValuesRequest{
			Vector: of.dense, SparseValues: of.sparse, TopK: 1, IncludeMetadata: true,
		}))(t).Matches[0]
		check.Same(t, "a", best.Vector.Id, "the best by %v, %v", of.dense, of.sparse)
		check.Same(t, of.score, best.Score, "the score by %v, %v", of.dense, of.sparse)
		check.Same(t, map[string]any{"k": "v"}, best.Vector.Metadata.AsMap(), "metadata")
	}
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
		got, _ := list(t, conn, "", 100)
		check.Same(t, []string{"b"}, got, "records")
	})
	run(t, crashed, func(conn *pinecone.IndexConnection) {
		wantWritten(t, conn)
		upsert(t, conn, dense("after", 1, 1))
	})
	run(t, crashed, func(conn *pinecone.IndexConnection) {
		got, _ := list(t, conn, "", 100)
		check.Same(t, []string{"a", "after", "b"}, got, "records")
	})
}
