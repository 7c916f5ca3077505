package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.css
var docsStyle string

//go:embed docs.html
var docsTemplate string

// docsPage is the readable page of the document. It loads nothing else: it has no scripts, fonts or images.
type docsPage struct {
	html []byte
	// policy is the Content-Security-Policy, which allows the page's own style by its hash.
	policy string
}

// renderDocs renders the page of a document.
func renderDocs(doc *huma.OpenAPI) (docsPage, error) {
	page, err := template.New("docs").Funcs(template.FuncMap{
		"style":  func() template.CSS { return template.CSS(docsStyle) }, //nolint:gosec // the style is ours
		"groups": groupsOf,
		"first":  func(list []string) string { return list[0] },
		"has":    slices.Contains[[]string],
		"name":   func(s *huma.Schema) string { return path.Base(s.Ref) },
		"limits": limitsOf,
	}).Parse(docsTemplate)
	if err != nil {
		return docsPage{}, fmt.Errorf("parse page: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, doc); err != nil {
		return docsPage{}, fmt.Errorf("render page: %w", err)
	}
	sum := sha256.Sum256([]byte(docsStyle))
	return docsPage{
		html: out.Bytes(),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}, nil
}

// groupsOf returns the operations by their tags, in the order of the page.
func groupsOf(doc *huma.OpenAPI) (groups [][]*huma.Operation) {
	for _, tag := range []string{
		"Sessions", "Messages", "Context", "Prompts", "Chat", "Turns", longTermTag, documentTag, operationsTag,
	} {
		groups = append(groups, slices.DeleteFunc(operations(doc), func(o *huma.Operation) bool { return o.Tags[0] != tag }))
	}
	return groups
}

// limitsOf returns what a schema says beside its description and its parts.
func limitsOf(s *huma.Schema) (string, error) {
	own := *s
	own.Description, own.Items = "", nil
	text, err := json.Marshal(&own)
	return strings.NewReplacer(`"`, "", ",", ", ").Replace(strings.Trim(string(text), "{}")), err
}
