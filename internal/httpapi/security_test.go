package httpapi_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSecurityPageHasEveryOperation compares the table of docs/security.md with the scopes that the code asks for.
func TestSecurityPageHasEveryOperation(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	served := map[string]string{}
	for path, operations := range serveDocument(t, h).Paths {
		for method, op := range operations {
			served[strings.ToUpper(method)+" "+path] = op.Security[0]["bearer"][0]
		}
	}
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([A-Z]+ /v1[^`]*)` \\| `([^`]+)` \\|$")
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = m[2]
	}
	if diff := cmp.Diff(served, documented); diff != "" {
		t.Errorf("operations and scopes (-served +documented):\n%s", diff)
	}
}
