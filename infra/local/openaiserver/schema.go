package openaiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// schema is a JSON schema of the kind that the product sends: types, properties, items, listed values, and anyOf.
// Values are built by these keywords alone.
type schema struct {
	Type       oneOrMore          `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Additional any                `json:"additionalProperties"`
	Items      *schema            `json:"items"`
	Enum       []any              `json:"enum"`
	AnyOf      []*schema          `json:"anyOf"`
}

// oneOrMore is a text or a list of texts.
type oneOrMore []string

// UnmarshalJSON reads both forms.
func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		if one != "" {
			*o = []string{one}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(o))
}

// strictProblem says what the strict mode does not allow in a schema: it closes every object and requires every
// property (the service's guide "Structured outputs"). It is empty where there is nothing.
func (s *schema) strictProblem() string {
	if len(s.Type) == 0 && s.Enum == nil && s.AnyOf == nil {
		return "schema must have a 'type' key."
	}
	children := slices.Clone(s.AnyOf)
	if slices.Contains(s.Type, "object") {
		if s.Additional != false {
			return "'additionalProperties' is required to be supplied and to be false."
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if !slices.Contains(s.Required, name) {
				return "'required' is required to be supplied and to be an array including every key in properties. " +
					"Missing '" + name + "'."
			}
			children = append(children, s.Properties[name])
		}
	}
	if slices.Contains(s.Type, "array") {
		if s.Items == nil {
			return "array schema missing items."
		}
		children = append(children, s.Items)
	}
	for _, child := range children {
		if reason := child.strictProblem(); reason != "" {
			return reason
		}
	}
	return ""
}

// checkFormat refuses a response format as the service does.
func checkFormat(format jsonSchema) error {
	s, reason := &schema{}, ""
	switch err := json.Unmarshal(format.Schema, s); {
	case err != nil:
		reason = err.Error()
	case format.Strict && !slices.Contains(s.Type, "object"):
		reason = "schema must have type 'object' at its root."
	case format.Strict:
		reason = s.strictProblem()
	}
	if reason == "" {
		return nil
	}
	return badRequest("response_format.json_schema.schema", "Invalid schema for response_format '%s': %s", format.Name,
		reason)
}

// build returns a value of the schema that is as near to the wish as it can be. text is the wish for a required string
// that has none.
func (s *schema) build(wish any, text string) any {
	if len(s.AnyOf) > 0 {
		i := slices.IndexFunc(s.AnyOf, func(v *schema) bool { return slices.Contains(v.Type, "null") == (wish == nil) })
		return s.AnyOf[max(0, i)].build(wish, text)
	}
	listed := func(v any) bool { return reflect.DeepEqual(v, wish) }
	switch w := wish.(type) {
	case map[string]any:
		built := map[string]any{}
		for name, property := range s.Properties {
			if wished := w[name]; wished != nil || slices.Contains(s.Required, name) {
				built[name] = property.build(wished, text)
			}
		}
		return built
	case []any:
		for i := range w {
			w[i] = s.Items.build(w[i], "")
		}
		return w
	case nil:
		return s.least(text)
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, listed) {
		return s.Enum[0]
	}
	return wish
}

// least is the value of a required property that nothing is wished for.
func (s *schema) least(text string) any {
	switch {
	case s.Enum != nil:
		return s.Enum[0]
	case len(s.Type) == 0 || slices.Contains(s.Type, "null"):
		return nil
	}
	switch s.Type[0] {
	case "object":
		return s.build(map[string]any{}, text)
	case "array":
		return []any{}
	case "string":
		return text
	case "boolean":
		return false
	}
	return 0
}

// structured answers with JSON of the request's schema.
func (s *server) structured(c Conversation, format jsonSchema) string {
	values, text := s.model.Fill(c, format.Name)
	return filled(format.Schema, values, text)
}

// filled returns a value of a schema that was checked before.
func filled(data json.RawMessage, values map[string]any, text string) string {
	var wish any
	s := &schema{}
	err := errors.Join(json.Unmarshal(data, s), json.Unmarshal([]byte(marshalText(values)), &wish))
	if err != nil {
		panic(err) // it was read before, and encoded just now
	}
	return marshalText(s.build(wish, text))
}

// marshalText renders JSON without the escapes that only HTML needs.
func marshalText(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // build returns JSON values only
	}
	return strings.TrimRight(out.String(), "\n")
}
