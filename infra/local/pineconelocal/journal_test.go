package pineconelocal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

// run serves the index of a folder while f runs, as one run of the stack does.
func run(t *testing.T, dir string, f func(*pinecone.IndexConnection)) {
	t.Helper()
	s := build(t, pineconelocal.Options{DataDir: dir})
	f(dial(t, serve(t, s)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func journalFile(dir string) string { return filepath.Join(dir, "writes") }

func readJournal(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(journalFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	return b
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
	err := errors.Join(
		conn.DeleteVectorsById(ctx, []string{"deleted"}),
		conn.WithNamespace("emptied").DeleteVectorsById(ctx, []string{"x"}),
		conn.DeleteNamespace(ctx, "dropped"))
	if err != nil {
		t.Fatal(err)
	}
}

func wantWritten(t *testing.T, conn *pinecone.IndexConnection) {
	t.Helper()
	got := fetch(t, conn, "a", "b", "deleted")
	if len(got) != 2 || got["a"] == nil || got["b"] == nil {
		t.Fatalf("records %v, want a and b", got)
	}
	want := hybrid("a", []float32{3, 4}, []uint32{4}, []float32{5})
	if diff := cmp.Diff(*want.Values, *got["a"].Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.SparseValues, got["a"].SparseValues); diff != "" {
		t.Errorf("sparse values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"k": "v"}, got["a"].Metadata.AsMap()); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	counts := map[string]uint32{}
	for name, ns := range stats(t, conn).Namespaces {
		counts[name] = ns.VectorCount
	}
	if diff := cmp.Diff(map[string]uint32{"__default__": 2, "emptied": 0}, counts); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}

// TestDataDirKeepsTheIndex also copies the file of a server that still runs, which is what a killed process leaves, and
// cuts off the last byte of it, as a crash may do.
func TestDataDirKeepsTheIndex(t *testing.T) {
	t.Parallel()
	dir, crashed := t.TempDir(), t.TempDir()
	run(t, dir, func(conn *pinecone.IndexConnection) {
		writeEverything(t, conn)
		if err := conn.DeleteVectorsById(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		whole := readJournal(t, dir)
		if err := os.WriteFile(journalFile(crashed), whole[:len(whole)-1], 0o600); err != nil {
			t.Fatal(err)
		}
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
		if diff := cmp.Diff([]string{"a", "after", "b"}, existing(t, conn, "a", "b", "after")); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
}

func TestDataDirThatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"another dimension": {func(t *testing.T, dir string) {
			run(t, dir, func(conn *pinecone.IndexConnection) { upsert(t, conn, dense("a", 1, 2)) })
		}, "Vector dimension 2 does not match the dimension of the index 3"},
		"not a journal": {func(t *testing.T, dir string) {
			if err := os.WriteFile(journalFile(dir), []byte(strings.Repeat("nonsense", 1_000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "open the index in "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tc.prepare(t, dir)
			s, err := pineconelocal.New(pineconelocal.Options{DataDir: dir, Dimension: 3})
			if err == nil {
				_ = s.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q, want one that says %q", err, tc.want)
			}
		})
	}
}
