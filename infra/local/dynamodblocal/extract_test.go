package dynamodblocal

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

// TestExtract unpacks a file below the prefix, and refuses a link and a path that leads out of the folder.
func TestExtract(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry   tar.Header
		refused bool
	}{
		"file":           {tar.Header{Name: "package/lib/a", Typeflag: tar.TypeReg}, false},
		"another folder": {tar.Header{Name: "other/../../a", Typeflag: tar.TypeReg}, false},
		"path out":       {tar.Header{Name: "package/../../a", Typeflag: tar.TypeReg}, true},
		"link":           {tar.Header{Name: "package/a", Typeflag: tar.TypeSymlink, Linkname: "/"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			archive, dir := filepath.Join(root, "archive"), filepath.Join(root, "deep", "dir")
			writeArchive(t, archive, c.entry)
			if err := extract(archive, "package/", dir); (err != nil) != c.refused {
				t.Errorf("refused %v, want %v: %v", err != nil, c.refused, err)
			}
			_, err := os.Stat(filepath.Join(dir, "lib", "a"))
			if unpacked := err == nil; unpacked != (name == "file") {
				t.Errorf("unpacked %v", unpacked)
			}
		})
	}
}

func writeArchive(t *testing.T, path string, entry tar.Header) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(f)
	entries := tar.NewWriter(zipped)
	if err := entries.WriteHeader(&entry); err != nil {
		t.Fatal(err)
	}
	if err := entries.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
