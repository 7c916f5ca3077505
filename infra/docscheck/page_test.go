package docscheck_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

const root = "../.."

// A block is a fenced block of a page.
type block struct {
	line int
	info []string // the words after the fence
	text string
}

// is reports whether a block's first line has these words.
func (b block) is(info string) bool { return slices.Equal(b.info, strings.Fields(info)) }

// isProgram reports whether a block is a whole program.
func (b block) isProgram() bool { return len(b.info) == 2 && b.info[1] == "program" }

// isForeign reports whether a Markdown file is no page of ours: test data, what prompts tell, and the specifications,
// which are as they were written for other systems.
func isForeign(path string) bool {
	if strings.HasPrefix(path, "docs/specifications/") {
		return path != "docs/specifications/README.md"
	}
	return strings.Contains(path, "testdata/") || strings.Contains(path, "expertise/")
}

// pages returns the paths of the pages, relative to the root.
func pages(t *testing.T) []string {
	t.Helper()
	var paths []string
	check.OK(t, fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (entry.Name()[0] == '.' || entry.Name() == "node_modules"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md") && !isForeign(path):
			paths = append(paths, path)
		}
		return nil
	}))
	return paths
}

// hasOwnCheck reports whether make adapters runs the programs of a page, with the versions of its folder.
func hasOwnCheck(path string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.Dir(path), "check"))
	return err == nil && (strings.HasPrefix(path, "adapters/") || strings.HasPrefix(path, "examples/"))
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	text := check.Got(os.ReadFile(filepath.Join(root, path)))(t)
	return string(text)
}

// fenced returns the fenced blocks of a page.
func fenced(text string) []block {
	var blocks []block
	inside := false
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside:
			blocks = append(blocks, block{line: i + 1, info: strings.Fields(info)})
			inside = true
		case fence:
			inside = false
		case inside:
			blocks[len(blocks)-1].text += line + "\n"
		}
	}
	return blocks
}

var user = regexp.MustCompile(`"userId":"([^"]+)"`)

// TestUsersDiffer checks that each page has a user of its own, because the pages' commands run at the same time.
func TestUsersDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, path := range pages(t) {
		for _, s := range steps(t, path) {
			for _, found := range user.FindAllStringSubmatch(s.commands.text, -1) {
				if other, ok := seen[found[1]]; ok && other != path {
					t.Errorf("%s and %s have the same user %s", other, path, found[1])
				}
				seen[found[1]] = path
			}
		}
	}
}

// A step is a block of commands and what it prints, if the page shows that.
type step struct {
	commands block
	output   *block
}

// strayWords are first words of a block that no check would look at.
var strayWords = []string{"sh", "bash", "console", "shell", "py", "golang", "typescript", "tsx", "javascript", "jsx"}

// steps returns a page's blocks of commands.
func steps(t *testing.T, path string) []step {
	t.Helper()
	var list []step
	for _, b := range fenced(readPage(t, path)) {
		switch {
		case b.is("sh"), b.is("sh start"), b.is("sh fails"), b.is("sh unrun"), b.isProgram():
			list = append(list, step{commands: b})
		case b.is("sh install"): // make packages TRY=1 runs it
		case b.is("text output"), b.is("json output"):
			if len(list) == 0 || list[len(list)-1].output != nil {
				t.Fatalf("%s:%d: an output without commands before it", path, b.line)
			}
			list[len(list)-1].output = &b
		case len(b.info) > 0 && slices.Contains(strayWords, b.info[0]):
			t.Errorf("%s:%d: no such kind of block: %q", path, b.line, strings.Join(b.info, " "))
		}
	}
	return list
}
