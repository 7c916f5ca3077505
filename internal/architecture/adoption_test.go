package architecture_test

import (
	"go/ast"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

const adoption = "internal/migration/adopt"

// TestAdoptionIsBesideTheStore checks that the stores and the table know nothing of an app's own records, and that
// only what builds the store adds their adoption to it (docs/adr/0059). Without the folder and that line, every session
// is one of the shared store.
func TestAdoptionIsBesideTheStore(t *testing.T) {
	t.Parallel()
	found := false
	for _, p := range listPackages(t) {
		for _, imported := range p.Imports {
			problem := adoptionProblem(p.path(), strings.TrimPrefix(imported, module+"/"))
			if problem != "" {
				t.Errorf("%s imports %s: %s", p.path(), imported, problem)
			}
		}
		found = found || p.path() == adoption
	}
	if !found {
		t.Errorf("there is no package %s", adoption)
	}
}

// adoptionProblem says why a package may not import another, or "".
func adoptionProblem(path, imported string) string {
	isStore := path == "internal/dynamo" || path == "internal/dynamo/table"
	switch {
	case imported == "internal/migration" && isStore:
		return "only " + adoption + " knows the stages and the placements of a migration"
	case imported != adoption:
		return ""
	case path == "internal/function", path == "internal/function/migratefn", strings.HasPrefix(path, "infra/"),
		isTestSupport(path):
		return ""
	}
	return "adoption is added where functions are built"
}

// TestMigrationCanBeDeleted checks that the functions other than migrate, built with the tag nomigration, need nothing
// of the folder internal/migration, so that who does not migrate can delete it (docs/migrating.md).
func TestMigrationCanBeDeleted(t *testing.T) {
	t.Parallel()
	functions := check.Got(os.ReadDir("../../functions"))(t)
	args := []string{"list", "-tags", "nomigration", "-deps"}
	for _, f := range functions {
		if f.Name() != "migrate" {
			args = append(args, module+"/functions/"+f.Name())
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil || len(out) == 0 {
		t.Fatalf("list the packages of %d functions: %v", len(functions)-1, err)
	}
	for imported := range strings.Lines(string(out)) {
		if strings.HasPrefix(imported, module+"/internal/migration") {
			t.Errorf("without the migration the functions still need %s", imported)
		}
	}
}

// TestPlacementsAreOfTheMigration checks that no other code than adoption and the migration names a placement.
func TestPlacementsAreOfTheMigration(t *testing.T) {
	t.Parallel()
	files := check.Got(repository())(t)
	names := []string{"Placement", "PlacementOf", "InArray", "InBoth", "InStore"}
	named := 0
	for _, f := range files {
		if !f.isProduction() {
			continue
		}
		isAllowed := strings.HasPrefix(f.path, adoption) || strings.HasPrefix(f.path, "internal/migration/")
		for n := range ast.Preorder(f.syntax) {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(names, selector.Sel.Name) {
				continue
			}
			of, _ := selector.X.(*ast.Ident)
			if of == nil || of.Name != "migration" && of.Name != "adopt" {
				continue
			}
			if named++; !isAllowed {
				t.Errorf("%s:%d: %s.%s", f.path, f.line(n.Pos()), of.Name, selector.Sel.Name)
			}
		}
	}
	if named == 0 {
		t.Error("no placement is found")
	}
}
