package architecture_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// sources has the positions in all files that are parsed.
var sources = token.NewFileSet()

// goFile is one Go file of the repository.
type goFile struct {
	// path is relative to the root of the repository, with slashes.
	path   string
	text   string
	syntax *ast.File
}

// problem is a place in the source that breaks a rule.
type problem struct {
	path string
	line int
	text string
}

// rule finds the problems in files.
type rule func([]goFile) []problem

// repository reads the Go files of the repository, tests included, once for all tests.
var repository = sync.OnceValues(func() ([]goFile, error) {
	root := os.DirFS("../..")
	var files []goFile
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f, err := parse(name, string(text))
		files = append(files, f)
		return err
	})
	return files, err
})

func parse(name, text string) (goFile, error) {
	f := goFile{path: filepath.ToSlash(name), text: text}
	var err error
	f.syntax, err = parser.ParseFile(sources, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return f, err
}

// isProduction reports whether the file is written by hand, and neither a test nor in a package of test support.
func (f goFile) isProduction() bool {
	return !strings.HasSuffix(f.path, "_test.go") && !isTestSupport(path.Dir(f.path)) && !ast.IsGenerated(f.syntax)
}

func (f goFile) problem(pos token.Pos, format string, args ...any) problem {
	return problem{path: f.path, line: f.line(pos), text: fmt.Sprintf(format, args...)}
}

func (f goFile) line(pos token.Pos) int { return sources.Position(pos).Line }

// perFile returns a rule that looks at one file at a time.
func perFile(find func(goFile) []problem) rule {
	return func(files []goFile) []problem {
		var found []problem
		for _, f := range files {
			found = append(found, find(f)...)
		}
		return found
	}
}

// checkRepository fails the test for each problem in the repository.
func checkRepository(t *testing.T, find rule) {
	t.Helper()
	files, err := repository()
	if err != nil {
		t.Fatalf("read the Go files of the repository: %v", err)
	}
	for _, p := range find(files) {
		t.Errorf("%s:%d: %s", p.path, p.line, p.text)
	}
}

// checkRule checks that a rule finds the wanted number of problems in a file.
func checkRule(t *testing.T, find rule, name, text string, want int) {
	t.Helper()
	f := check.Got(parse(name, text))(t)
	if found := find([]goFile{f}); len(found) != want {
		t.Errorf("%s: found %v, want %d problems in\n%.200s", name, found, want, text)
	}
}
