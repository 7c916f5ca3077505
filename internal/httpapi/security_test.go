package httpapi_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/check"
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
	if diff := cmp.Diff(served, documentedScopes(t)); diff != "" {
		t.Errorf("operations and scopes (-served +documented):\n%s", diff)
	}
}

// documentedScopes returns the scope of each operation in the table of docs/security.md.
func documentedScopes(t *testing.T) map[string]string {
	t.Helper()
	page := check.Got(os.ReadFile("../../docs/security.md"))(t)
	documented := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([A-Z]+ /v1[^`]*)` \\| `([^`]+)` \\|$")
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = m[2]
	}
	return documented
}

// TestEveryOperationAsksForItsScope calls each operation with nine kinds of token. One without the scope is 403 before
// anything else of the call is looked at, and no other is.
func TestEveryOperationAsksForItsScope(t *testing.T) {
	t.Parallel()
	const onBehalf = httpapi.ScopeOnBehalf + " "
	tokens := map[string]struct {
		scopes  string
		headers map[string]string
		user    bool
		app     bool
	}{
		"the user's":                     {scopes: httpapi.ScopeUser, user: true},
		"the app's":                      {scopes: httpapi.ScopeApp, user: true, app: true},
		"of another API":                 {scopes: "openid profile"},
		"in other case":                  {scopes: "Throughline/User throughline/APP"},
		"of a like name":                 {scopes: "throughline/users throughline/application"},
		"of a server for a user":         {scopes: onBehalf + httpapi.ScopeUser, headers: forUser("ann"), user: true},
		"of a server with the app's":     {scopes: serverScopes, headers: forUser("ann"), user: true, app: true},
		"of a server without others":     {scopes: onBehalf, headers: forUser("ann")},
		"the user's, for another person": {scopes: httpapi.ScopeUser, headers: forUser("bob")},
	}
	h := allFunctions(t, newMemory(t, noon).erasable())
	one := regexp.MustCompile(`\{[a-zA-Z]+\}`)
	for operation, scope := range documentedScopes(t) {
		method, path, _ := strings.Cut(operation, " ")
		for name, token := range tokens {
			r := send(t, h, call{
				method: method, path: one.ReplaceAllString(path, "x"), user: "ann", scopes: token.scopes, headers: token.headers,
			})
			isAllowed := scope == httpapi.ScopeUser && token.user || scope == httpapi.ScopeApp && token.app
			if isRefused := r.status == http.StatusForbidden; isRefused == isAllowed || r.status == http.StatusUnauthorized {
				t.Errorf("%s with a token %s: %d", operation, name, r.status)
			}
		}
	}
}
