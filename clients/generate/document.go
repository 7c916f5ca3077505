package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// repeatable are the operations by POST that take no Idempotency-Key and may still be sent twice: they read, or say
// what may be said again.
var repeatable = []string{
	"buildPrompt", "finishTurn", "leaveSession", "queryContext", "recall", "restoreMemory", "reviewMemory", "search",
	"searchMemories",
}

// schema is the part of a JSON schema that the clients are generated from.
type schema struct {
	Ref         string `json:"$ref"`
	Type        any    `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Enum        []any  `json:"enum"`
	// AppDefined says that the values of Enum are those of one app, and another app has others.
	AppDefined           bool               `json:"x-app-defined"`
	Items                *schema            `json:"items"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	AdditionalProperties json.RawMessage    `json:"additionalProperties"`
}

// content is a body by media type.
type content map[string]struct{ Schema schema }

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                schema
}

// operation is one operation of the document. Method, Path and the rest below Responses are no part of its JSON.
type operation struct {
	OperationID, Summary, Description string
	Parameters                        []parameter
	RequestBody                       *struct{ Content content }
	Responses                         map[string]struct{ Content content }

	Method, Path string
	// Kind says how the answer is read: page, events, lines, or "" for one JSON value or nothing.
	Kind string
	// Answers are the names of the schemas of the answers, "" for an answer without a body.
	Answers []string
}

// document is the OpenAPI document.
type document struct {
	Info       struct{ Version string }
	Paths      map[string]map[string]*operation
	Components struct{ Schemas map[string]*schema }
}

// read reads a document. It returns an error that says what to do about an operation that the clients cannot have.
func read(text []byte) (*document, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	for path, methods := range d.Paths {
		for method, o := range methods {
			o.Method, o.Path = strings.ToUpper(method), path
			if err := d.classify(o); err != nil {
				return nil, err
			}
		}
	}
	return &d, nil
}

// operations returns the operations in the order of their names.
func (d *document) operations() []*operation {
	var all []*operation
	for _, methods := range d.Paths {
		all = slices.AppendSeq(all, maps.Values(methods))
	}
	slices.SortFunc(all, func(a, b *operation) int { return cmp.Compare(a.OperationID, b.OperationID) })
	return all
}

// schemas returns the names of the schemas in order.
func (d *document) schemas() []string { return slices.Sorted(maps.Keys(d.Components.Schemas)) }

func (d *document) classify(o *operation) error {
	if o.Method == "POST" && !o.keyed() && !slices.Contains(repeatable, o.OperationID) {
		return fmt.Errorf("%s %s (%s) has no Idempotency-Key: give it one, or, where sending it twice does no harm, "+
			"name it in repeatable of clients/generate/document.go", o.Method, o.Path, o.OperationID)
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if status[0] != '2' {
			continue
		}
		if err := d.addAnswer(o, o.Responses[status].Content); err != nil {
			return err
		}
	}
	for _, p := range o.Parameters {
		if o.Kind == "events" && slices.Contains(p.Schema.Enum, any("events")) {
			o.Path += "?" + p.Name + "=events" // by default it has another form, which the clients do not read
		}
	}
	slices.Sort(o.Answers)
	o.Answers = slices.Compact(o.Answers)
	slices.Reverse(o.Answers) // no body comes last
	if len(o.Answers) == 1 && d.isPage(o.Answers[0]) {
		o.Kind = "page"
	}
	return nil
}

func (d *document) addAnswer(o *operation, body content) error {
	if len(body) == 0 {
		o.Answers = append(o.Answers, "")
	}
	for media, c := range body {
		switch media {
		case "application/json":
			o.Answers = append(o.Answers, c.Schema.name())
		case "text/event-stream":
			o.Kind = "events"
		case "application/x-ndjson":
			o.Kind = "lines"
		default:
			return fmt.Errorf("%s answers %s, which the clients do not read: teach each how", o.OperationID, media)
		}
	}
	return nil
}

// isPage reports whether a schema is a page of a list.
func (d *document) isPage(name string) bool {
	s := d.Components.Schemas[name]
	return s != nil && s.Properties["nextCursor"] != nil && s.Properties["items"] != nil
}

// itemOf returns the schema of the items of a page.
func (d *document) itemOf(page string) *schema {
	return d.Components.Schemas[page].Properties["items"].Items
}

// name returns the name of the schema that a reference names, or "".
func (s *schema) name() string { return s.Ref[strings.LastIndex(s.Ref, "/")+1:] }

// kind returns the one type of a schema, and whether null is another.
func (s *schema) kind() (name string, nullable bool) {
	types, ok := s.Type.([]any)
	if !ok {
		name, _ = s.Type.(string)
		return name, false
	}
	for _, t := range types {
		if t == "null" {
			nullable = true
		} else {
			name, _ = t.(string)
		}
	}
	return name, nullable
}

// values returns the schema of the values of an object, or nil.
func (s *schema) values() *schema {
	var values schema
	if err := json.Unmarshal(s.AdditionalProperties, &values); err != nil {
		return nil // true, false or nothing
	}
	return &values
}

// in returns the parameters of one place: path, query or header. The query of a stream chooses its form, and a client
// reads the form that it knows. That of an export says where it goes on, which the clients do by themselves.
func (o *operation) in(place string) []parameter {
	var found []parameter
	for _, p := range o.Parameters {
		if p.In == place && (place != "query" || (o.Kind != "events" && o.Kind != "lines")) {
			found = append(found, p)
		}
	}
	return found
}

// pathNames returns the parameters of the path in its order.
func (o *operation) pathNames() []string {
	var names []string
	for segment := range strings.SplitSeq(o.Path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

func (o *operation) keyed() bool {
	return slices.ContainsFunc(o.Parameters, func(p parameter) bool { return p.Name == "Idempotency-Key" })
}

// body returns the name of the schema of the request's body, or "".
func (o *operation) body() string {
	if o.RequestBody == nil {
		return ""
	}
	c := o.RequestBody.Content["application/json"].Schema
	return c.name()
}

// doc returns the summary and the description as one text.
func (o *operation) doc() string { return strings.TrimSpace(o.Summary + ". " + o.Description) }
