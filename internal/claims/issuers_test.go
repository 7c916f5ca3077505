package claims_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/throughline/throughline/internal/claims"
	"github.com/throughline/throughline/internal/testing/check"
)

// vendorBlock is a heading of docs/issuers.md with the payload below it.
var vendorBlock = regexp.MustCompile("(?s)\n### ([^\n]+)\n.*?```json\n(.*?)```")

// The recipes of docs/issuers.md give tokens that speak for a user, in the form that each issuer writes.
func TestIssuersRecipes(t *testing.T) {
	t.Parallel()
	page := check.Got(os.ReadFile(filepath.Join("..", "..", "docs", "issuers.md")))(t)
	found := vendorBlock.FindAllSubmatch(page, -1)
	if len(found) != 5 {
		t.Fatalf("%d recipes, want 5", len(found))
	}
	for _, m := range found {
		c, err := claims.Parse(m[2])
		if err != nil {
			t.Errorf("%s: %v", m[1], err)
			continue
		}
		if _, err := c.User(); err != nil || !slices.Contains(c.Scopes, "throughline/user") {
			t.Errorf("%s: the user %q with the scopes %q, %v", m[1], c.Subject, c.Scopes, err)
		}
	}
}
