package architecture_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"

	"github.com/throughline/throughline/internal/testing/check"
)

// loader type-checks packages of this module from their source, each once, and builds their code. Other packages come
// from the build cache, without their code. So the go command compiles none of this module's packages for it.
type loader struct {
	packages map[string]goPackage
	files    map[string]*ast.File
	others   types.Importer
	checked  map[string]*types.Package
	program  *ssa.Program
}

// loadFunctions builds the code of the functions, and returns their mains by their names.
func loadFunctions(t *testing.T) (*ssa.Program, map[string]*ssa.Function) {
	t.Helper()
	files := check.Got(repository())(t)
	l := &loader{
		packages: map[string]goPackage{}, files: map[string]*ast.File{}, checked: map[string]*types.Package{},
		program: ssa.NewProgram(sources, ssa.InstantiateGenerics),
	}
	for _, f := range files {
		l.files[f.path] = f.syntax
	}
	var others, mains []string
	for _, p := range listPackages(t) {
		l.packages[p.ImportPath] = p
		isMain := strings.HasPrefix(p.path(), "functions/")
		if isMain {
			mains = append(mains, p.ImportPath)
		}
		if isMain || strings.HasPrefix(p.path(), "internal/") {
			others = append(others, slices.DeleteFunc(slices.Clone(p.Imports), isOfModule)...)
		}
	}
	slices.Sort(others)
	l.others = importer.ForCompiler(sources, "gc", exported(t, slices.Compact(others)))
	functions := map[string]*ssa.Function{}
	for _, p := range mains {
		pkg, err := l.Import(p)
		if err != nil {
			t.Fatalf("load %s: %v", p, err)
		}
		functions[path.Base(p)] = l.program.Package(pkg).Func("main")
	}
	l.declare(slices.Collect(maps.Values(l.checked)))
	l.program.Build()
	return l.program, functions
}

func isOfModule(imported string) bool { return strings.HasPrefix(imported, module+"/") }

// Import returns a package with its types. The package's code is in the program.
func (l *loader) Import(imported string) (*types.Package, error) {
	if p := l.checked[imported]; p != nil {
		return p, nil
	}
	p, err := l.load(imported)
	l.checked[imported] = p
	return p, err
}

func (l *loader) load(imported string) (*types.Package, error) {
	listed, ok := l.packages[imported]
	if !ok {
		return l.others.Import(imported)
	}
	var files []*ast.File
	for _, name := range listed.GoFiles {
		files = append(files, l.files[path.Join(listed.path(), name)])
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
	p, err := (&types.Config{Importer: l}).Check(imported, sources, files, info)
	if err != nil {
		return nil, err
	}
	l.program.CreatePackage(p, files, info, true)
	return p, nil
}

// declare tells the program of packages without code, and of those that they import. The importer completes a package
// that others import when it is imported itself, so declare comes after all imports.
func (l *loader) declare(packages []*types.Package) {
	for _, p := range packages {
		if p != types.Unsafe && l.program.Package(p) == nil {
			l.program.CreatePackage(p, nil, nil, true)
			l.declare(p.Imports())
		}
	}
}

// exported opens what the compiler has exported of packages and of those that they need.
func exported(t *testing.T, imported []string) importer.Lookup {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go",
		slices.Concat([]string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}"}, imported)...)
	list.Dir, list.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list packages: %v\n%s", err, stderr.Bytes())
	}
	places := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		places[name] = file
	}
	return func(name string) (io.ReadCloser, error) {
		if places[name] == "" {
			return nil, fmt.Errorf("nothing is exported of %q", name)
		}
		return os.Open(places[name])
	}
}
