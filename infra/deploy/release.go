package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/throughline/throughline/infra/deployment"
)

// release writes the values of the template's parameters for SAM, with what was built and these values as the parameter
// Release. SAM makes a new version of a function when its code changes, but not when the value of a parameter does.
func release(out io.Writer, built string, s deployment.Stage) error {
	values := maps.Clone(s.Given)
	if _, given := values[deployment.Release]; given {
		return fmt.Errorf("%s is computed: remove it from parameter_overrides", deployment.Release)
	}
	files := os.DirFS(built)
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(built, path))
		fmt.Fprintf(sum, "%q %x\n", path, sha256.Sum256(content))
		return err
	})
	if err != nil {
		return fmt.Errorf("read what was built: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(sum, "%q %q\n", name, values[name])
	}
	values[deployment.Release] = deployment.ReleaseName(sum.Sum(nil))
	return json.NewEncoder(out).Encode(values)
}
