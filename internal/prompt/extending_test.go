package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
)

// TestExtending checks that the worked example of docs/extending.md compiles, and does what the page says with nothing
// else changed.
func TestExtending(t *testing.T) {
	defer prompt.Contribute()()
	page := readFile(t, filepath.Join("..", "..", "docs", "extending.md"))
	source := readFile(t, "example_test.go")
	for _, begin := range []string{"var standup = ", "// selectPeople "} {
		_, example, _ := strings.Cut(page, "```go\n"+begin)
		example, _, found := strings.Cut(example, "```")
		if !found || !strings.Contains(source, begin+example) {
			t.Errorf("docs/extending.md and example_test.go differ in what begins with %q", begin)
		}
	}
	w := newFixture()
	r := everyRecord(w.user("u"), func(kind string) string { return kind })
	r.Recipe = "standup"
	memories := &w.user("u").snapshot.Memories
	*memories = append(*memories,
		longterm.Memory{ID: "m4", Content: "Eva, the sister", Type: longterm.PeopleMemory, CreatedAt: now})
	p := build(t, w.service(now), "u", r)
	const want = "# GOALS\n- goal (habit)\n\n# PEOPLE\n- Eva, the sister\n- memory"
	if !strings.HasSuffix(p.System, want) || len(p.Messages) != 4 {
		t.Errorf("system %s, messages %q", p.System, p.Messages)
	}
	checkStructure(t, p, storedTexts(w.user("u"), r))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
