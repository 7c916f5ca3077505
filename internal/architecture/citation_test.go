package architecture_test

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestCommentsCiteOnlyTheRepository checks that a reader of the repository can look up what comments cite.
func TestCommentsCiteOnlyTheRepository(t *testing.T) {
	t.Parallel()
	checkRepository(t, perFile(outsideCitations))
	checkRepository(t, perFile(unknownSections))
}

// outsideDocument matches a citation of a document that is not in the repository by its name and section.
var outsideDocument = regexp.MustCompile(
	`(?i)\b(design|api|conventions)(\.md)?,? (section )?("|[0-9])|\b(design|api|conventions)\.md\b`,
)

func outsideCitations(f goFile) []problem {
	var found []problem
	for _, group := range f.syntax.Comments {
		for _, cited := range outsideDocument.FindAllString(commentText(group), -1) {
			found = append(found, f.problem(group.Pos(), "a comment cites a document outside the repository: %q", cited))
		}
	}
	return found
}

// specification reads a page of docs/specifications, with its white space folded, once for all tests.
var specification = map[string]func() (string, error){
	"conversation-context-engine":  readSpecification("conversation-context-engine"),
	"maas-context-format":          readSpecification("maas-context-format"),
	"prompt-assembly-map":          readSpecification("prompt-assembly-map"),
	"unified-conversation-context": readSpecification("unified-conversation-context"),
	"working-context-builder":      readSpecification("working-context-builder"),
}

func readSpecification(name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		text, err := os.ReadFile("../../docs/specifications/" + name + ".md")
		return strings.Join(strings.Fields(string(text)), " "), err
	})
}

var (
	// citation matches the name of a specification and what follows it in its parentheses.
	citation = regexp.MustCompile(`\b(conversation-context-engine|maas-context-format|prompt-assembly-map|` +
		`unified-conversation-context|working-context-builder)\b((?:[^()]|\([^()]*\))*)\)`)
	quoted = regexp.MustCompile(`"([^"]+)"`)
)

// unknownSections finds sections that comments quote and that their specification does not have.
func unknownSections(f goFile) []problem {
	var found []problem
	for _, group := range f.syntax.Comments {
		for _, cited := range citation.FindAllStringSubmatch(commentText(group), -1) {
			text, err := specification[cited[1]]()
			if err != nil {
				found = append(found, f.problem(group.Pos(), "read the specification: %v", err))
			}
			for _, section := range quoted.FindAllStringSubmatch(cited[2], -1) {
				if !strings.Contains(text, section[1]) {
					found = append(found, f.problem(group.Pos(), "%s has no %q", cited[1], section[1]))
				}
			}
		}
	}
	return found
}

// commentText returns the words of a comment in one line.
func commentText(group *ast.CommentGroup) string {
	return strings.Join(strings.Fields(group.Text()), " ")
}
