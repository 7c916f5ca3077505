package docscheck_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// A checker checks the types of blocks: the ending of their files, its command, and a file that it reads beside them.
type checker struct{ ending, command, file, text string }

// checkers returns the checkers by the first word of a block. A parameter of JavaScript has no type, so that it may be
// any.
func checkers(t *testing.T) map[string]checker {
	t.Helper()
	tsc, clients := absolute(t, sdk+"/node_modules/.bin/tsc"), absolute(t, "clients")
	return map[string]checker{
		"ts": {"ts", tsc, "tsconfig.json", fmt.Sprintf(tsconfig, clients, "")},
		"js": {"js", tsc, "tsconfig.json", fmt.Sprintf(tsconfig, clients, `, "checkJs": true, "noImplicitAny": false`)},
		"python": {
			"py", absolute(t, sdk+"/bin/mypy") + " . --cache-dir ../../mypy", "mypy.ini",
			"[mypy]\nstrict = true\nmypy_path = " + clients + "/python/src\n[mypy-throughline.*]\nfollow_imports = silent\n",
		},
		"go": {"go", "go vet ./...", "go.mod", fmt.Sprintf(gomod, clients)},
	}
}

// tsconfig has the options of tsc. The client's sources are checked with the blocks.
const tsconfig = `{"compilerOptions": {"strict": true, "exactOptionalPropertyTypes": true,
	"noUncheckedIndexedAccess": true, "noEmit": true, "skipLibCheck": true, "target": "ES2022",
	"module": "NodeNext", "lib": ["ES2023", "DOM", "DOM.Iterable", "DOM.AsyncIterable"], "types": ["node"],
	"paths": {"@throughline/client": ["%[1]s/typescript/src/index.ts"],
		"@throughline/client/chat": ["%[1]s/typescript/src/chat-transport.ts"]}%[2]s}}`

const gomod = `module example.com/pages

go 1.25.0

require github.com/throughline/throughline/clients/go v0.0.0

replace github.com/throughline/throughline/clients/go => %s/go
`

// goesOnFrom has the languages of whole programs that a block of a language goes on from.
var goesOnFrom = map[string]string{"ts": "js", "python": "python"}

// TestTypes checks the types of each block of TypeScript, JavaScript, Python and Go, as strictly as the checkers can. A
// block that is no program goes on from the page's program before it.
func TestTypes(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp(filepath.Join(root, sdk), "types")
	if err != nil {
		t.Fatalf("make docs-check installs the libraries: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	list := checkers(t)
	for _, path := range pages(t) {
		if !hasOwnCheck(path) && path != "docs/extending.md" { // TestExtending of three packages compiles its blocks
			saveTyped(t, folder, path, list)
		}
	}
	for language, checker := range list {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			dir, words := filepath.Join(folder, language), strings.Fields(checker.command)
			if err := os.WriteFile(filepath.Join(dir, checker.file), []byte(checker.text), 0o600); err != nil {
				t.Fatalf("no page has such a block: %v", err)
			}
			check := exec.CommandContext(t.Context(), words[0], words[1:]...)
			check.Dir = dir
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", words[0], err, out)
			}
		})
	}
}

// saveTyped saves the blocks of a page, each in a file that is named by its page and line.
func saveTyped(t *testing.T, folder, path string, list map[string]checker) {
	t.Helper()
	programs := map[string]string{}
	for _, b := range fenced(readPage(t, path)) {
		if len(b.info) == 0 || list[b.info[0]].ending == "" {
			continue
		}
		language, text := b.info[0], b.text
		if b.isProgram() {
			programs[language] = b.text
		} else {
			text = programs[goesOnFrom[language]] + text
		}
		name := fmt.Sprintf("%s_%d", strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(path), b.line)
		file := filepath.Join(folder, language, name+"."+list[language].ending)
		if language == "go" {
			file = filepath.Join(folder, language, name, "main.go")
		}
		check.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
		check.OK(t, os.WriteFile(file, []byte(text), 0o600))
	}
}
