package architecture_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestCommentsCiteOnlyTheRepository(t *testing.T) {
	t.Parallel()
	checkRepository(t, perFile(outsideCitations))
}

func TestNamesArePlain(t *testing.T) {
	t.Parallel()
	checkRepository(t, perFile(avoidedNames))
}

// outsideDocument matches a citation of a document that is not in the repository by its name and section.
var outsideDocument = regexp.MustCompile(
	`(?i)\b(design|api|conventions)(\.md)?,? (section )?("|[0-9])|\b(design|api|conventions)\.md\b`,
)

func outsideCitations(f goFile) []problem {
	var found []problem
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			for _, cited := range outsideDocument.FindAllString(c.Text, -1) {
				found = append(found, f.problem(c.Pos(), "a comment cites a document outside the repository: %q", cited))
			}
		}
	}
	return found
}

// avoided are words that a name must not have, because the field has another word for what they meant here.
var avoided = []string{
	"grave", "graves", "bury", "buried", "buries", "burying", "entomb", "entombed", "ledger", "turnstile", "patience",
	"stillness", "trouble", "troubles", "unsure", "stretch", "memo", "recollect", "squeeze", "spill", "retract",
	"unkept", "shelf", "seam", "stand", "world", "rig", "contest", "lane", "trial", "scene", "door", "telling",
}

// avoidedNames finds avoided words in the name of a file and in its identifiers, and reports each name once.
func avoidedNames(f goFile) []problem {
	var found []problem
	seen := map[string]bool{}
	check := func(name *ast.Ident, text string) {
		for _, word := range words(text) {
			if slices.Contains(avoided, word) && !seen[text] {
				seen[text] = true
				found = append(found, f.problem(name.Pos(), "the name %s has the word %q", text, word))
			}
		}
	}
	check(f.syntax.Name, strings.TrimSuffix(path.Base(f.path), ".go"))
	for n := range ast.Preorder(f.syntax) {
		if name, ok := n.(*ast.Ident); ok {
			check(name, name.Name)
		}
	}
	return found
}

// words splits a name in camel case or with underscores into its words, in lower case.
func words(name string) []string {
	var out []string
	runes := []rune(name)
	start := 0
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || startsWord(runes, i) {
			out = append(out, strings.ToLower(strings.Trim(string(runes[start:i]), "_")))
			start = i
		}
	}
	return out
}

// startsWord reports whether a word starts at i: after an underscore, at an upper-case letter after another character,
// and at the last upper-case letter of several.
func startsWord(name []rune, i int) bool {
	switch {
	case name[i-1] == '_':
		return true
	case !unicode.IsUpper(name[i]):
		return false
	}
	return !unicode.IsUpper(name[i-1]) || i+1 < len(name) && unicode.IsLower(name[i+1])
}

func TestWordingRules(t *testing.T) {
	t.Parallel()
	const name = "internal/a/a.go"
	for comment, want := range map[string]int{
		"plain words": 0, "the design is old (ARCHITECTURE, section Writing)": 0, "OpenAPI 3.1": 0,
		"counted once (design 4.1)": 1, "see API 2 and design 3": 2, `conventions, "Layout"`: 1, "in api.md": 1,
		"design, section 4": 1,
	} {
		checkRule(t, perFile(outsideCitations), name, "package a\n\n// "+comment+"\n", want)
		checkRule(t, perFile(outsideCitations), name, "package a\n\nvar s = `"+comment+"`\n", 0)
	}
	for code, want := range map[string]int{
		"var tombstone int": 0, "var standard, understand, engraved int": 0, `var s = "grave"`: 0,
		"var graveOf int": 1, "var newHTTPLedger int": 1, "func f(old_grave int) {}": 1, "type T struct{ Graves int }": 1,
	} {
		checkRule(t, perFile(avoidedNames), name, "package a\n\n"+code+"\n", want)
	}
	checkRule(t, perFile(avoidedNames), "internal/a/bury_message.go", "package a\n", 1)
}
