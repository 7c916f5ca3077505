package docscheck_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// ownApp is the page that makes an app of one's own, with a stack that has its file.
const ownApp = "docs/your-app.md"

// TestOwnApp plays an adopter from the page alone: it saves the page's file, starts the stack with it by the page's own
// command, and runs what the page shows.
func TestOwnApp(t *testing.T) {
	t.Parallel()
	blocks, list := fenced(readPage(t, ownApp)), steps(t, ownApp)
	file := slices.IndexFunc(blocks, func(b block) bool { return b.is("yaml app.yaml") })
	start := slices.IndexFunc(list, func(s step) bool { return s.commands.is("sh start") })
	if file < 0 || start < 0 {
		t.Fatalf("%s does not show the file and how the stack is started with it", ownApp)
	}
	saved := filepath.Join(t.TempDir(), "app.yaml")
	check.OK(t, os.WriteFile(saved, []byte(blocks[file].text), 0o600))
	data := t.TempDir()
	stack := startWith(t, strings.Replace(list[start].commands.text, "app.yaml", saved, 1), freeAddress(t), data)
	runPage(t, stack.asShown(data), ownApp, list)
}
