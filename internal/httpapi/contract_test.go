package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// document is the part of the served OpenAPI document that the tests read.
type document struct {
	OpenAPI string
	Info    struct{ Title, Version, Description string }
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Tags        []string
		Security    []map[string][]string
		Parameters  []struct {
			Name, In string
			Schema   schema
		}
		RequestBody *struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]struct {
			Headers map[string]struct{ Schema schema }
			Content map[string]struct{ Schema schema }
		}
	}
	Components struct {
		Schemas         map[string]schema
		SecuritySchemes map[string]any
	}
}

// schema is the part of a JSON schema that the document uses.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 types
	Format, Pattern      string
	Enum                 []any
	Required             []string
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties *additional
	Minimum, Maximum     *float64
	MinLength, MaxLength *int
	MaxItems             *int
	Description          string
	OneOf                []schema
	ContentSchema        *schema
}

// types is one type, or a list of them.
type types []string

func (t *types) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// additional says whether additional properties are allowed, and their schema.
type additional struct {
	allowed bool
	schema  *schema
}

func (a *additional) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &a.allowed) == nil {
		return nil
	}
	a.allowed = true
	return json.Unmarshal(raw, &a.schema)
}

// check returns the violations of a schema by a value.
func (d document) check(s schema, at string, v any) []string {
	for s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, "#/components/schemas/")
		target, ok := d.Components.Schemas[name]
		if !ok {
			return []string{at + ": the document has no schema " + s.Ref}
		}
		s = target
	}
	if len(s.Type) == 0 {
		return nil // A schema without a type takes anything.
	}
	integral := typeName(v) == "integer" && slices.Contains(s.Type, "number")
	if !integral && !slices.Contains(s.Type, typeName(v)) {
		return []string{fmt.Sprintf("%s: %s, want %v", at, typeName(v), s.Type)}
	}
	if len(s.Enum) > 0 && v != nil && !slices.Contains(s.Enum, v) {
		return []string{fmt.Sprintf("%s: %v is none of %v", at, v, s.Enum)}
	}
	switch v := v.(type) {
	case string:
		return s.checkText(at, v)
	case []any:
		var wrong []string
		for i, item := range v {
			wrong = append(wrong, d.check(*s.Items, fmt.Sprintf("%s[%d]", at, i), item)...)
		}
		return wrong
	case map[string]any:
		return d.checkObject(s, at, v)
	}
	return nil
}

var milliseconds = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

func (s schema) checkText(at, v string) []string {
	if s.Format == "date-time" && !milliseconds.MatchString(v) {
		return []string{at + ": " + v + " is not a time in UTC with milliseconds"}
	}
	if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v) {
		return []string{at + ": " + v + " does not match " + s.Pattern}
	}
	return nil
}

func (d document) checkObject(s schema, at string, v map[string]any) []string {
	var wrong []string
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			wrong = append(wrong, at+"."+name+": is missing")
		}
	}
	for name, value := range v {
		property, ok := s.Properties[name]
		switch {
		case ok:
			wrong = append(wrong, d.check(property, at+"."+name, value)...)
		case s.AdditionalProperties == nil || !s.AdditionalProperties.allowed:
			wrong = append(wrong, at+"."+name+": is not in the document")
		case s.AdditionalProperties.schema != nil:
			wrong = append(wrong, d.check(*s.AdditionalProperties.schema, at+"."+name, value)...)
		}
	}
	return wrong
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "integer"
		}
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func serveDocument(t testing.TB, h http.Handler) document {
	t.Helper()
	r := expect(t, h, 200, as("", "GET", "/openapi.json"))
	check.Equal(t, "application/json", r.header.Get("Content-Type"), "content type")
	var d document
	check.OK(t, json.Unmarshal(r.body, &d))
	return d
}

func TestDocumentHasEveryOperation(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	d := serveDocument(t, h)
	if d.OpenAPI != "3.1.0" || d.Info.Title == "" || d.Info.Version == "" ||
		d.Components.SecuritySchemes["bearer"] == nil {
		t.Errorf("document %s %+v, security schemes %v", d.OpenAPI, d.Info, d.Components.SecuritySchemes)
	}
	ids := map[string]bool{}
	for path, operations := range d.Paths {
		for method, op := range operations {
			if op.OperationID == "" || ids[op.OperationID] || op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s %s: id %q, summary %q, tags %q", method, path, op.OperationID, op.Summary, op.Tags)
			}
			ids[op.OperationID] = true
			for _, status := range []string{"401", "403", "422", "429", "500", "503"} {
				if _, ok := op.Responses[status].Content["application/problem+json"]; !ok {
					t.Errorf("%s %s: no problem for %s", method, path, status)
				}
			}
		}
	}
	text := string(expect(t, h, 200, as("", "GET", "/openapi.json")).body)
	for name, s := range d.Components.Schemas {
		if !strings.Contains(text, `"#/components/schemas/`+name+`"`) {
			t.Errorf("schema %s is of no operation", name)
		}
		if len(s.Type) == 0 && name != "Value" {
			t.Errorf("schema %s has no type", name)
		}
	}
}

func TestValuesOfAnyKindHaveNoType(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	text := string(expect(t, h, 200, as("", "GET", "/openapi.json")).body)
	if strings.Contains(text, `"type":[""`) {
		t.Error("a schema has a type without a name")
	}
}

func TestDocumentSaysWhenToCallAgain(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	d := serveDocument(t, h)
	for path, operations := range d.Paths {
		for method, op := range operations {
			for status, response := range op.Responses {
				_, got := response.Headers["Retry-After"]
				want := slices.Contains([]string{"409", "429", "503"}, status) ||
					status == "202" && strings.HasPrefix(path, "/v1/user")
				if got != want {
					t.Errorf("%s %s: %s has Retry-After: %v, want %v", method, path, status, got, want)
				}
			}
		}
	}
	if _, ok := d.Paths["/v1/chat"]["post"].Responses["200"].Headers["Idempotency-Replayed"]; !ok {
		t.Error("a chat does not say that it was replayed")
	}
}

func TestDocsPage(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	r := expect(t, h, 200, as("", "GET", "/docs"))
	page := string(r.body)
	check.Equal(t, "text/html; charset=utf-8", r.header.Get("Content-Type"), "content type")
	for _, foreign := range []string{"<script", "<link", "<img", "@import", "url(", "http://", "https://"} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page is not whole in itself: it has %s", foreign)
		}
	}
	if policy := r.header.Get("Content-Security-Policy"); !strings.Contains(policy, "style-src 'sha256-") {
		t.Errorf("policy %q keeps the page's style out", policy)
	}
	for path, operations := range serveDocument(t, h).Paths {
		for _, op := range operations {
			if !strings.Contains(page, `id="`+op.OperationID+`"`) || !strings.Contains(page, "<code>"+path+"</code>") {
				t.Errorf("the page lacks %s %s", op.OperationID, path)
			}
		}
	}
	for _, wrong := range []string{"ZgotmplZ", "&lt;nil&gt;", "<nil>", "default 0x"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page has %s, a value that it cannot show", wrong)
		}
	}
}
