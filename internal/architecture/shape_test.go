package architecture_test

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The limits on the shape of the code. Those on files, functions and types do not bind tests.
const (
	maxLineChars = 120 // A tab counts as one.
	maxFileLines = 400
	maxFuncLines = 50
	maxMethods   = 25
)

func TestLinesAreShort(t *testing.T) {
	t.Parallel()
	checkRepository(t, perFile(longLines))
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	checkRepository(t, perFile(longFiles))
}

func TestFunctionsAreShort(t *testing.T) {
	t.Parallel()
	checkRepository(t, perFile(longFunctions))
}

func TestTypesAreSmall(t *testing.T) {
	t.Parallel()
	checkRepository(t, largeTypes)
}

// longLines leaves out fields with a tag, which cannot be broken.
func longLines(f goFile) []problem {
	var found []problem
	for i, line := range strings.Split(f.text, "\n") {
		isTagged := strings.HasSuffix(line, "\"`")
		if n := utf8.RuneCountInString(line); n > maxLineChars && !isTagged {
			found = append(found, f.problem(f.lineStart(i+1), "the line has %d characters, more than %d", n, maxLineChars))
		}
	}
	return found
}

func (f goFile) lineStart(line int) token.Pos {
	return sources.File(f.syntax.FileStart).LineStart(line)
}

func longFiles(f goFile) []problem {
	n := strings.Count(f.text, "\n")
	if n <= maxFileLines || !f.isProduction() {
		return nil
	}
	return []problem{f.problem(f.syntax.FileStart, "the file has %d lines, more than %d", n, maxFileLines)}
}

func longFunctions(f goFile) []problem {
	if !f.isProduction() {
		return nil
	}
	var found []problem
	for _, d := range f.syntax.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n > maxFuncLines {
			found = append(found, f.problem(fn.Pos(), "%s has %d lines, more than %d", fn.Name.Name, n, maxFuncLines))
		}
	}
	return found
}

// largeTypes finds the types that declare too many methods. It counts neither those of an embedded field nor those of
// an embedded interface.
func largeTypes(files []goFile) []problem {
	type methods struct {
		count int
		first problem
	}
	types := map[string]*methods{}
	add := func(f goFile, name *ast.Ident, n int) {
		key := path.Dir(f.path) + "." + name.Name
		if types[key] == nil {
			types[key] = &methods{first: f.problem(name.Pos(), "%s has more than %d methods", name.Name, maxMethods)}
		}
		types[key].count += n
	}
	for _, f := range files {
		if !f.isProduction() {
			continue
		}
		for n := range ast.Preorder(f.syntax) {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if name := receiver(n); name != nil {
					add(f, name, 1)
				}
			case *ast.TypeSpec:
				if i, ok := n.Type.(*ast.InterfaceType); ok {
					add(f, n.Name, namedFields(i.Methods))
				}
			}
		}
	}
	var found []problem
	for _, key := range slices.Sorted(maps.Keys(types)) {
		if types[key].count > maxMethods {
			found = append(found, types[key].first)
		}
	}
	return found
}

func namedFields(list *ast.FieldList) int {
	n := 0
	for _, field := range list.List {
		n += len(field.Names)
	}
	return n
}

// receiver returns the name of a method's type, or nil for a function.
func receiver(fn *ast.FuncDecl) *ast.Ident {
	if fn.Recv == nil {
		return nil
	}
	// The first name in *T, T and T[P] is T.
	for n := range ast.Preorder(fn.Recv.List[0].Type) {
		if name, ok := n.(*ast.Ident); ok {
			return name
		}
	}
	return nil
}
