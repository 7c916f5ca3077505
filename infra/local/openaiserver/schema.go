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
	if s.Enum != nil {
		if slices.ContainsFunc(s.Enum, func(listed any) bool { return reflect.DeepEqual(listed, wish) }) {
			return wish
		}
		return s.Enum[0]
	}
	for _, allows := range []func(*schema) bool{
		func(v *schema) bool { return slices.Contains(v.Type, kindOf(wish)) },
		func(v *schema) bool { return !slices.Contains(v.Type, "null") },
	} {
		if i := slices.IndexFunc(s.AnyOf, allows); i >= 0 {
			return s.AnyOf[i].build(wish, text)
		}
	}
	switch s.kind(wish) {
	case "object":
		return s.object(wish, text)
	case "array":
		wishes, _ := wish.([]any)
		built := []any{}
		for _, w := range wishes {
			if s.Items != nil {
				w = s.Items.build(w, "")
			}
			built = append(built, w)
		}
		return built
	case "string":
		said, _ := wish.(string)
		return strings.ToValidUTF8(said, "")
	case "integer", "number":
		n, _ := wish.(float64)
		return n
	case "boolean":
		return wish == true
	case "null":
		return nil
	}
	return wish
}

// object has the known properties that are wished, and all that are required.
func (s *schema) object(wish any, text string) any {
	wishes, _ := wish.(map[string]any)
	built := map[string]any{}
	for name, property := range s.Properties {
		required := slices.Contains(s.Required, name)
		wished, ok := wishes[name]
		if !ok && required && property.kind(nil) == "string" {
			wished = text
		}
		if wished != nil || required {
			built[name] = property.build(wished, text)
		}
	}
	return built
}

// kind is the type to build: the wish's where the schema allows it, else null, else the first.
func (s *schema) kind(wish any) string {
	switch wished := kindOf(wish); {
	case len(s.Type) == 0:
		return ""
	case slices.Contains(s.Type, wished):
		return wished
	}
	return s.Type[0]
}

// kindOf names the JSON type of a wish.
func kindOf(wish any) string {
	switch wish.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	}
	return "null"
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
