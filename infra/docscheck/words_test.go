package docscheck_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// glossary explains the words of Throughline, and own are those that a newcomer cannot know from elsewhere.
const glossary = "docs/concepts.md"

var own = []string{
	"spine", "seed", "sitting", "thread", "sweep", "generation", "manifest", "watermark", "tombstone", "recipe",
	"open loop",
}

// maxWords is how many words of its own Throughline may have. A newcomer has to learn each of them.
const maxWords = 25

// TestOwnWordsAreFew counts the words in bold of the glossary, which are Throughline's own.
func TestOwnWordsAreFew(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`\*\*[^*]+\*\*`).FindAllString(readPage(t, glossary), -1)
	slices.Sort(words)
	if words = slices.Compact(words); len(words) > maxWords || len(words) < len(own) {
		t.Errorf("%s explains %d words, want at most %d: %q", glossary, len(words), maxWords, words)
	}
}

// others are pages of docs/README.md for who is new that the test leaves out: the glossary itself, a page that is
// generated, and one that who judges reads, too.
var others = []string{"concepts.md", "limits.md", "security.md"}

// newcomers returns README and the pages of docs/README.md for who is new. They explain the words, or lead to the
// glossary.
func newcomers(t *testing.T) []string {
	t.Helper()
	_, section, ok := strings.Cut(readPage(t, "docs/README.md"), "\n## For who is new")
	section, _, end := strings.Cut(section, "\n## ")
	if !ok || !end {
		t.Fatal("docs/README.md has no section for who is new")
	}
	list := []string{"README.md"}
	for _, found := range link.FindAllStringSubmatch(section, -1) {
		if page, _, _ := strings.Cut(found[1], "#"); !slices.Contains(others, page) {
			list = append(list, "docs/"+page)
		}
	}
	return list
}

// TestWordsAreExplained checks that the glossary has each of the words, and that its first use on each page of a
// newcomer is in a link to the glossary, or has an explanation in parentheses after it.
func TestWordsAreExplained(t *testing.T) {
	t.Parallel()
	concepts := strings.ToLower(readPage(t, glossary))
	for _, word := range own {
		if !regexp.MustCompile(`\*\*` + word + `s?\*\*`).MatchString(concepts) {
			t.Errorf("%s does not explain %q", glossary, word)
		}
	}
	for _, page := range newcomers(t) {
		for _, word := range unexplained(readPage(t, page)) {
			t.Errorf("%s: the first %q is in no link to %s, and no explanation in parentheses follows", page, word, glossary)
		}
	}
}

var (
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*concepts\.md#[^)]*\)`)
	notUses = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|<[^>]*>")
)

// unexplained returns the words whose first use in a text is not explained. Code, headings and addresses are no uses.
func unexplained(text string) []string {
	text = linked.ReplaceAllString(prose(text), "\x01$1\x02")
	text = notUses.ReplaceAllString(text, "")
	var found []string
	for _, word := range own {
		first := regexp.MustCompile(`(?i)\b` + word + `s?\b`).FindStringIndex(text)
		if first == nil {
			continue
		}
		before, after := text[:first[0]], text[first[1]:]
		inLink := strings.LastIndexByte(before, '\x01') > strings.LastIndexByte(before, '\x02')
		if !inLink && !strings.HasPrefix(after, " (") {
			found = append(found, word)
		}
	}
	return found
}

// prose returns a page without headings and fenced blocks, each paragraph in one line.
func prose(text string) string {
	var kept strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			inside = !inside
		} else if !inside && !strings.HasPrefix(line, "#") {
			kept.WriteString(line)
		}
	}
	return strings.ReplaceAll(kept.String(), "\n", " ")
}
