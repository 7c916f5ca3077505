package architecture_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// vendor is the name of the vendor of the vector store, and citedTitle is the title of a section of a specification,
// which may have it.
var (
	vendor     = regexp.MustCompile(`(?i)pinecone`)
	citedTitle = regexp.MustCompile(`\([a-z-]+, "[^"]*"\)`)
)

// TestDomainNamesNoVectorStore expects that the domain's code and comments fit any vendor's vector store.
func TestDomainNamesNoVectorStore(t *testing.T) {
	t.Parallel()
	checkRepository(t, perFile(vendorsWords))
}

func vendorsWords(f goFile) []problem {
	if _, rule := importRuleOf(path.Dir(f.path)); rule.layer != domain || !f.isProduction() {
		return nil
	}
	var found []problem
	for i, line := range strings.Split(f.text, "\n") {
		if word := vendor.FindString(citedTitle.ReplaceAllString(line, "")); word != "" {
			found = append(found, f.problem(f.lineStart(i+1), "a domain package says %s", word))
		}
	}
	return found
}

func TestVendorRule(t *testing.T) {
	t.Parallel()
	const text = "package a\n\n// Limit is Pinecone's.\nconst source = \"pinecone\"\n"
	checkRule(t, perFile(vendorsWords), "internal/recall/a.go", text, 2)
	checkRule(t, perFile(vendorsWords), "internal/recall/rank/a.go", text, 2)
	checkRule(t, perFile(vendorsWords), "internal/recall/a_test.go", text, 0)
	checkRule(t, perFile(vendorsWords), "internal/pinecone/a.go", text, 0)
	checkRule(t, perFile(vendorsWords), "internal/summary/a.go", "package a\n\n// T is (a-b, \"Pinecone Fields\").\n", 0)
}
