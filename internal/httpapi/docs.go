package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"reflect"
	"slices"
	"strconv"
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
	page, err := template.New("docs").Parse(docsTemplate)
	if err != nil {
		return docsPage{}, fmt.Errorf("parse page: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Title": doc.Info.Title, "Version": doc.Info.Version, "About": strings.Split(doc.Info.Description, "\n\n"),
		"Style": template.CSS(docsStyle), "Groups": groupsOf(doc), //nolint:gosec // the style is ours
	})
	if err != nil {
		return docsPage{}, fmt.Errorf("render page: %w", err)
	}
	sum := sha256.Sum256([]byte(docsStyle))
	return docsPage{
		html: out.Bytes(),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}, nil
}

// docsGroup has the operations of one tag.
type docsGroup struct {
	Name       string
	Operations []docsOperation
}

// docsOperation is one operation on the page.
type docsOperation struct {
	ID, Method, Path, Summary, Detail, Scope string
	Params                                   []docsField
	Body                                     []docsField
	Answers                                  []docsAnswer
	// Errors are the statuses of the problems that it may answer.
	Errors []string
}

// docsField is one parameter, or one field of a body with its path.
type docsField struct {
	Name, In, Type, Doc string
	Required            bool
}

type docsAnswer struct {
	Status, Title, Media, Example string
	Headers                       []docsField
	Fields                        []docsField
}

// tagOrder is the order of the groups on the page.
var tagOrder = []string{
	"Sessions", "Messages", "Context", "Prompts", "Chat", "Turns", longTermTag, documentTag, operationsTag,
}

func groupsOf(doc *huma.OpenAPI) []docsGroup {
	groups := make([]docsGroup, len(tagOrder))
	for i, tag := range tagOrder {
		groups[i].Name = tag
	}
	d := describer{doc.Components.Schemas}
	for _, op := range operations(doc) {
		if i := slices.Index(tagOrder, op.Tags[0]); i >= 0 {
			groups[i].Operations = append(groups[i].Operations, d.operation(op))
		}
	}
	return groups
}

// describer describes schemas in words.
type describer struct{ huma.Registry }

func (d describer) operation(op *huma.Operation) docsOperation {
	out := docsOperation{
		ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Detail: op.Description,
		Scope: op.Security[0]["bearer"][0],
	}
	for _, p := range op.Parameters {
		out.Params = append(out.Params, docsField{
			Name: p.Name, In: p.In, Type: d.typeOf(p.Schema), Doc: p.Description, Required: p.Required,
		})
	}
	if op.RequestBody != nil {
		out.Body = d.fields("", op.RequestBody.Content["application/json"].Schema)
	}
	for status, response := range op.Responses {
		if _, failed := response.Content[problemType]; failed {
			out.Errors = append(out.Errors, status+" "+response.Description)
			continue
		}
		out.Answers = append(out.Answers, d.answer(status, response))
	}
	slices.Sort(out.Errors)
	slices.SortFunc(out.Answers, func(a, b docsAnswer) int { return strings.Compare(a.Status, b.Status) })
	return out
}

func (d describer) answer(status string, response *huma.Response) docsAnswer {
	a := docsAnswer{Status: status, Title: response.Description}
	for name, h := range response.Headers {
		a.Headers = append(a.Headers, docsField{Name: name, Type: d.typeOf(h.Schema), Doc: h.Schema.Description})
	}
	slices.SortFunc(a.Headers, func(a, b docsField) int { return strings.Compare(a.Name, b.Name) })
	for media, content := range response.Content {
		a.Media = media
		if text, ok := content.Example.(string); ok {
			a.Example = text
			continue
		}
		a.Fields = d.fields("", content.Schema)
	}
	return a
}

// fields lists the fields of a schema with their paths. The path of a list's items ends in [].
func (d describer) fields(prefix string, s *huma.Schema) []docsField {
	s = d.resolve(s)
	if s.Type == huma.TypeArray {
		return d.fields(prefix+"[]", s.Items)
	}
	// Required fields come first.
	required := func(name string) bool { return slices.Contains(s.Required, name) }
	names := slices.Sorted(maps.Keys(s.Properties))
	optional := slices.DeleteFunc(slices.Clone(names), required)
	names = append(slices.DeleteFunc(names, func(name string) bool { return !required(name) }), optional...)
	var out []docsField
	for _, name := range names {
		property := s.Properties[name]
		path := joinPath(prefix, name)
		out = append(out, docsField{
			Name: path, Type: d.typeOf(property), Doc: d.docOf(property), Required: required(name),
		})
		if strings.Count(path, ".") < 4 {
			out = append(out, d.fields(path, property)...)
		}
	}
	if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
		out = append(out, d.fields(joinPath(prefix, "*"), values)...)
	}
	return out
}

func (d describer) resolve(s *huma.Schema) *huma.Schema {
	for s.Ref != "" {
		s = d.SchemaFromRef(s.Ref)
	}
	return s
}

func (d describer) docOf(s *huma.Schema) string {
	if s.Description != "" || s.Ref == "" {
		return s.Description
	}
	return d.resolve(s).Description
}

// typeOf describes a schema's type and limits in a few words.
func (d describer) typeOf(s *huma.Schema) string {
	s = d.resolve(s)
	words := []string{s.Type}
	switch {
	case s.Type == "":
		words = []string{"any JSON value"}
	case len(s.Enum) > 0:
		words = []string{oneOf(s.Enum)}
	case s.Type == huma.TypeArray:
		words = []string{"list of " + d.typeOf(s.Items)}
	case s.Format != "":
		words = []string{s.Format}
	case s.PatternDescription != "":
		words = append(words, s.PatternDescription)
	}
	words = append(words, countRange(s.MinLength, s.MaxLength, "characters"), countRange(s.MinItems, s.MaxItems, "items"),
		numberRange(s.Minimum, s.Maximum))
	if s.Default != nil {
		words = append(words, fmt.Sprintf("default %v", reflect.Indirect(reflect.ValueOf(s.Default))))
	}
	if s.Nullable {
		words = append(words, "or null")
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
}

func oneOf(values []any) string {
	var words []string
	for _, v := range values {
		if v != nil { // null, which typeOf says
			words = append(words, fmt.Sprint(v))
		}
	}
	return strings.Join(words, " | ")
}

func countRange(least, most *int, unit string) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf("%d to %d %s", *least, *most, unit)
	case most != nil:
		return fmt.Sprintf("at most %d %s", *most, unit)
	}
	return ""
}

func numberRange(least, most *float64) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case least != nil && most != nil:
		return number(*least) + " to " + number(*most)
	case least != nil:
		return "at least " + number(*least)
	}
	return ""
}
