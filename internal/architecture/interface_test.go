package architecture_test

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// maxOwnMethods is how many methods an interface has at most. One that needs more is composed of smaller ones.
const maxOwnMethods = 3

// wideInterfaces may have more methods, each for its reason.
var wideInterfaces = map[string]string{
	"internal/longterm.Collection":       "the life of one record: create, read, list, update, delete",
	"internal/longterm.CoachStore":       "the life of one record: read, list, put, delete",
	"internal/erasure.SessionStore":      "the steps of one deletion, in their order",
	"internal/erasure.TombstoneStore":    "the life of one record: save, read, delete",
	"internal/erasure.UserStore":         "the steps of one erasure, in their order",
	"internal/dynamo/table.API":          "the calls of a client of AWS that are made",
	"internal/dynamo/preflight.TableAPI": "the calls of a client of AWS that are made",
}

// TestInterfacesAreSmall holds the rule of CONTRIBUTING. An exception that is no longer needed fails, too.
func TestInterfacesAreSmall(t *testing.T) {
	t.Parallel()
	files := check.Got(repository())(t)
	wide := map[string]problem{}
	for _, f := range files {
		maps.Copy(wide, wideIn(f))
	}
	for _, name := range slices.Sorted(maps.Keys(wide)) {
		if p := wide[name]; wideInterfaces[name] == "" {
			t.Errorf("%s:%d: %s: compose it of interfaces of one to %d", p.path, p.line, p.text, maxOwnMethods)
		}
	}
	for name := range wideInterfaces {
		if _, found := wide[name]; !found {
			t.Errorf("%s needs no exception: remove it from wideInterfaces", name)
		}
	}
}

// wideIn returns the interfaces of a file with too many methods, by package and name. Embedded interfaces do not count.
func wideIn(f goFile) map[string]problem {
	wide := map[string]problem{}
	if !f.isProduction() {
		return wide
	}
	for n := range ast.Preorder(f.syntax) {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			continue
		}
		if i, ok := spec.Type.(*ast.InterfaceType); ok && namedFields(i.Methods) > maxOwnMethods {
			name := path.Dir(f.path) + "." + spec.Name.Name
			wide[name] = f.problem(spec.Pos(), "%s has %d methods", name, namedFields(i.Methods))
		}
	}
	return wide
}
