package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestExtending checks that the recipe of docs/extending.md compiles, and does what the page says with nothing else
// changed. Package choose has the test of the page's block.
func TestExtending(t *testing.T) {
	defer prompt.Contribute()()
	page := readFile(t, filepath.Join("..", "..", "docs", "extending.md"))
	_, example, _ := strings.Cut(page, "```go\nvar standup = ")
	example, _, found := strings.Cut(example, "```")
	if !found || !strings.Contains(readFile(t, "example_test.go"), "var standup = "+example) {
		t.Error("docs/extending.md and example_test.go differ")
	}
	w := newFixture()
	r := everyRecord(w.user("u"), func(kind string) string { return kind })
	r.Recipe = "standup"
	p := build(t, w.service(now), "u", r)
	if !strings.HasSuffix(p.System, "\n\n# GOALS\n- goal (habit)") || len(p.Messages) != 4 {
		t.Errorf("system %s, messages %q", p.System, p.Messages)
	}
	checkStructure(t, p, storedTexts(w.user("u"), r))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text := check.Got(os.ReadFile(path))(t)
	return string(text)
}
