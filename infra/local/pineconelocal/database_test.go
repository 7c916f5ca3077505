package pineconelocal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"go.etcd.io/bbolt"

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

func databaseFile(dir string) string { return filepath.Join(dir, "pinecone.db") }

func readDatabase(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(databaseFile(dir))
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
	if diff := cmp.Diff([]float32{3, 4}, *got["a"].Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"k": "v"}, got["a"].Metadata.AsMap()); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	wantSparse := &pinecone.SparseValues{Indices: []uint32{4}, Values: []float32{5}}
	if diff := cmp.Diff(wantSparse, got["a"].SparseValues); diff != "" {
		t.Errorf("sparse values (-want +got):\n%s", diff)
	}
	counts := map[string]uint32{}
	for name, ns := range stats(t, conn).Namespaces {
		counts[name] = ns.VectorCount
	}
	if diff := cmp.Diff(map[string]uint32{"__default__": 2, "emptied": 0}, counts); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}

func TestDataDirKeepsTheIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir, func(conn *pinecone.IndexConnection) { writeEverything(t, conn) })
	for range 2 {
		run(t, dir, func(conn *pinecone.IndexConnection) { wantWritten(t, conn) })
	}
}

// TestDataDirSurvivesACrash copies the file of a server that still runs, which is what a killed process leaves.
func TestDataDirSurvivesACrash(t *testing.T) {
	t.Parallel()
	dir, crashed := t.TempDir(), t.TempDir()
	run(t, dir, func(conn *pinecone.IndexConnection) {
		writeEverything(t, conn)
		if err := os.WriteFile(databaseFile(crashed), readDatabase(t, dir), 0o600); err != nil {
			t.Fatal(err)
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

func TestDataDirKeepsNoEmptyWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir, func(conn *pinecone.IndexConnection) {
		upsert(t, conn, dense("a", 1))
		before := readDatabase(t, dir)
		if err := conn.DeleteVectorsById(t.Context(), []string{"missing"}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, readDatabase(t, dir)) {
			t.Error("a write that changes nothing was written to the file")
		}
	})
}

func TestDataDirDoesNotGrowByRewriting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir, func(conn *pinecone.IndexConnection) {
		rewrite := func(times int) int {
			for i := range times {
				upsert(t, conn, dense("same", float32(i+1), 1), dense("other", 1, 1))
			}
			return len(readDatabase(t, dir))
		}
		first := rewrite(1)
		if size := rewrite(100); size > 2*first {
			t.Errorf("the file grew from %d to %d bytes", first, size)
		}
	})
}

func TestDataDirThatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	damage := func(content []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(databaseFile(dir), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"another dimension": {func(t *testing.T, dir string) {
			run(t, dir, func(conn *pinecone.IndexConnection) { upsert(t, conn, dense("a", 1, 2)) })
		}, "Vector dimension 2 does not match the dimension of the index 3"},
		"not a database": {damage([]byte(strings.Repeat("not a database", 1_000))), "invalid database"},
		"zeros":          {damage(make([]byte, 64<<10)), "invalid database"},
		"in use": {func(t *testing.T, dir string) {
			build(t, pineconelocal.Options{DataDir: dir})
		}, "timeout"},
		"a record that can't be read": {func(t *testing.T, dir string) {
			db, err := bbolt.Open(databaseFile(dir), 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			putNonsense := func(tx *bbolt.Tx) error {
				bucket, err := tx.CreateBucket([]byte("ns"))
				return errors.Join(err, bucket.Put([]byte("a"), []byte("nonsense")))
			}
			if err := errors.Join(db.Update(putNonsense), db.Close()); err != nil {
				t.Fatal(err)
			}
		}, `load record "a" of namespace "ns"`},
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
