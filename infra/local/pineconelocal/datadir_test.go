package pineconelocal_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

// run serves the index of a folder for the length of f, as one run of the stack does.
func run(t *testing.T, dir string, f func(*pinecone.IndexConnection)) {
	t.Helper()
	s := build(t, pineconelocal.Options{DataDir: dir})
	f(dial(t, serve(t, s), ""))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// everyWrite makes each kind of write, and leaves the records a and b.
func everyWrite(t *testing.T, conn *pinecone.IndexConnection) {
	t.Helper()
	a := hybrid("a", []float32{1, 2}, []uint32{4}, []float32{5})
	a.Metadata = object(t, map[string]any{"k": "v"})
	upsert(t, conn, a, vector("b", 1, 1), vector("c", 1, 1))
	upsert(t, conn.WithNamespace("gone"), vector("x", 1, 1))
	ctx := t.Context()
	_, created := conn.CreateNamespace(ctx, &pinecone.CreateNamespaceParams{
		Name:   "made",
		Schema: &pinecone.MetadataSchema{Fields: map[string]pinecone.MetadataSchemaField{"f": {Filterable: true}}},
	})
	_, patched := conn.UpdateVectorsByMetadata(ctx, &pinecone.UpdateVectorsByMetadataRequest{
		Filter: object(t, map[string]any{"k": "v"}), Metadata: object(t, map[string]any{"by": "filter"}),
	})
	err := errors.Join(created, patched,
		conn.UpdateVector(ctx, &pinecone.UpdateVectorRequest{Id: "a", Values: []float32{3, 4}}),
		conn.DeleteVectorsById(ctx, []string{"c"}),
		conn.DeleteNamespace(ctx, "gone"))
	if err != nil {
		t.Fatal(err)
	}
}

// checkWritten compares with what everyWrite leaves.
func checkWritten(t *testing.T, conn *pinecone.IndexConnection) {
	t.Helper()
	got := fetched(t, conn, "a", "b", "c")
	if len(got) != 2 {
		t.Fatalf("records %v, want a and b", got)
	}
	if diff := cmp.Diff([]float32{3, 4}, *got["a"].Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"k": "v", "by": "filter"}, got["a"].Metadata.AsMap()); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint32{4}, got["a"].SparseValues.Indices); diff != "" {
		t.Errorf("sparse indices (-want +got):\n%s", diff)
	}
	names, _ := counted(t, conn, "")
	if diff := cmp.Diff([]string{"__default__ 2", "made 0"}, names); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	if d, err := conn.DescribeNamespace(t.Context(), "made"); err != nil || d.Schema == nil || !d.Schema.Fields["f"].Filterable {
		t.Errorf("the schema is lost: %+v, %v", d, err)
	}
}

func TestDataDir(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, func(conn *pinecone.IndexConnection) { everyWrite(t, conn) })
	for range 3 { // replayed, rewritten, or replayed again: always the same
		run(t, dir, func(conn *pinecone.IndexConnection) { checkWritten(t, conn) })
	}
}

func journalPath(dir string) string { return filepath.Join(dir, "pinecone.journal") }

func readJournal(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(journalPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDataDirSurvivesACrash(t *testing.T) {
	dir := t.TempDir()
	kept := 0
	run(t, dir, func(conn *pinecone.IndexConnection) {
		everyWrite(t, conn)
		kept = len(readJournal(t, dir))
		upsert(t, conn, vector("torn", 1, 1))
	})
	whole := readJournal(t, dir)
	damaged := slices.Clone(whole)
	damaged[len(damaged)-1] ^= 0xff
	for name, content := range map[string][]byte{
		"cut short": whole[:len(whole)-3],
		"damaged":   damaged,
		"zeros":     append(whole[:kept:kept], make([]byte, 100)...),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(journalPath(dir), content, 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, dir, func(conn *pinecone.IndexConnection) {
				checkWritten(t, conn)
				upsert(t, conn, vector("after", 1, 1))
			})
			run(t, dir, func(conn *pinecone.IndexConnection) {
				if got := existing(t, conn, "a", "after", "torn"); cmp.Diff([]string{"a", "after"}, got) != "" {
					t.Errorf("records %v, want a and after", got)
				}
			})
		})
	}
}

// TestDataDirForgetsWhatFollowsDamage damages a frame that whole ones follow, and puts another in its very place: the
// later ones must not come back.
func TestDataDirForgetsWhatFollowsDamage(t *testing.T) {
	dir := t.TempDir()
	first := 0
	run(t, dir, func(conn *pinecone.IndexConnection) {
		upsert(t, conn, vector("kept", 1, 1))
		first = len(readJournal(t, dir))
		upsert(t, conn, vector("hurt", 1, 1))
		upsert(t, conn, vector("lost", 1, 1))
	})
	damaged := readJournal(t, dir)
	damaged[first] ^= 0xff
	if err := os.WriteFile(journalPath(dir), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, func(conn *pinecone.IndexConnection) { upsert(t, conn, vector("next", 1, 1)) })
	run(t, dir, func(conn *pinecone.IndexConnection) {
		if diff := cmp.Diff([]string{"kept", "next"}, existing(t, conn, "kept", "hurt", "lost", "next")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDataDirKeepsNoIdleWrites(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, func(conn *pinecone.IndexConnection) {
		upsert(t, conn, vector("a", 1))
		before := len(readJournal(t, dir))
		_, dryRun := conn.UpdateVectorsByMetadata(t.Context(), &pinecone.UpdateVectorsByMetadataRequest{
			Filter: object(t, map[string]any{"k": map[string]any{"$exists": false}}), Metadata: object(t, nil), DryRun: new(true),
		})
		err := errors.Join(dryRun,
			conn.DeleteVectorsById(t.Context(), []string{"missing"}),
			conn.UpdateVector(t.Context(), &pinecone.UpdateVectorRequest{Id: "missing", Values: []float32{1}}))
		if err != nil {
			t.Fatal(err)
		}
		if after := len(readJournal(t, dir)); after != before {
			t.Errorf("the journal grew from %d to %d bytes", before, after)
		}
	})
}

func TestDataDirIsRewritten(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, func(conn *pinecone.IndexConnection) {
		for i := range 200 {
			upsert(t, conn, vector("same", float32(i+1), 1), vector("other", 1, 1))
		}
	})
	before := len(readJournal(t, dir))
	run(t, dir, func(conn *pinecone.IndexConnection) {
		if got := *fetched(t, conn, "same")["same"].Values; got[0] != 200 {
			t.Errorf("after the rewrite: %v", got)
		}
	})
	if after := len(readJournal(t, dir)); after*20 > before {
		t.Errorf("the journal shrank from %d to %d bytes only", before, after)
	}
	run(t, dir, func(conn *pinecone.IndexConnection) {
		if got := existing(t, conn, "same", "other"); len(got) != 2 {
			t.Errorf("of the rewritten journal: %v", got)
		}
	})
}

// FuzzDataDir opens folders with any content: New must refuse them or serve them, and then again.
func FuzzDataDir(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("not a journal at all"))
	f.Add(make([]byte, 64))
	f.Add([]byte{0, 0, 0, 1, 0xd2, 0x02, 0xef, 0x8d, 0}) // a whole frame that is no message
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(journalPath(dir), content, 0o600); err != nil {
			t.Fatal(err)
		}
		var refused [2]bool
		for i := range refused {
			s, err := pineconelocal.New(pineconelocal.Options{DataDir: dir})
			if refused[i] = err != nil; refused[i] {
				continue
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if refused[0] != refused[1] {
			t.Errorf("refused first %v, then %v", refused[0], refused[1])
		}
	})
}
