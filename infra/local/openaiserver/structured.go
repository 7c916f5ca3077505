package openaiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// structured answers with JSON that the request's schema allows.
func (s *server) structured(c Conversation, format jsonSchema) string {
	values, text := s.model.Fill(c, format.Name)
	var wish any
	if err := json.Unmarshal([]byte(marshalText(values)), &wish); err != nil {
		panic(err) // it was encoded just now
	}
	return marshalText(mustFill(format.Schema).fill(wish, text))
}

// marshalText renders JSON without the escapes that only HTML needs.
func marshalText(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // fill returns JSON values only
	}
	return strings.TrimRight(out.String(), "\n")
}

// checkFormat refuses a response format as the service does. A strict format closes every object and requires every
// property.
func checkFormat(format jsonSchema) error {
	invalid := func(reason string) error {
		return badRequest("response_format.json_schema.schema", "Invalid schema for response_format '%s': %s",
			format.Name, reason)
	}
	if _, err := newFiller(format.Schema); err != nil {
		return invalid("the offline model cannot fill it: " + err.Error())
	}
	if !format.Strict {
		return nil
	}
	root := &jsonschema.Schema{}
	if err := json.Unmarshal(format.Schema, root); err != nil || root.Type != "object" {
		return invalid("schema must have type 'object' at its root.")
	}
	if reason := strictProblem(root); reason != "" {
		return invalid(reason)
	}
	return nil
}

// strictFormats are the formats of texts that the strict mode knows.
var strictFormats = strings.Fields("date-time time date duration email hostname ipv4 ipv6 uuid")

// strictProblem says what the strict mode does not allow in a schema. It is empty where there is nothing. The rules are
// those of the service's guide on structured outputs and of the OpenAI library for Node, which refuses the same
// keywords before it sends a strict schema.
func strictProblem(s *jsonschema.Schema) string {
	for _, problem := range []func(*jsonschema.Schema) string{strictKeywords, strictObject, strictFormat} {
		if reason := problem(s); reason != "" {
			return reason
		}
	}
	all := children(s)
	for _, defs := range []map[string]*jsonschema.Schema{s.Defs, s.Definitions} {
		all = slices.AppendSeq(all, maps.Values(defs))
	}
	for _, child := range all {
		if reason := strictProblem(child); reason != "" {
			return reason
		}
	}
	return ""
}

// strictKeywords names a keyword that the strict mode does not take, or the lack of one that it needs.
func strictKeywords(s *jsonschema.Schema) string {
	types := typesOf(s)
	switch {
	case s.Ref != "":
		if beside := besideRef(*s); len(beside) > 0 {
			return fmt.Sprintf("$ref cannot have keywords {'%s'}.", strings.Join(beside, "', '"))
		}
	case s.OneOf != nil:
		return "'oneOf' is not permitted."
	case s.AllOf != nil:
		return "'allOf' is not permitted."
	case s.PrefixItems != nil || s.ItemsArray != nil:
		return "'prefixItems' is not permitted."
	case s.UniqueItems:
		return "'uniqueItems' is not permitted."
	case s.PropertyNames != nil:
		return "'propertyNames' is not permitted."
	case s.Not != nil:
		return "'not' is not permitted."
	case s.If != nil:
		return "'if' is not permitted."
	case s.PatternProperties != nil:
		return "'patternProperties' is not permitted."
	case types == nil && len(valuesOf(s)) == 0 && s.AnyOf == nil:
		return "schema must have a 'type' key."
	case slices.Contains(types, "array") && s.Items == nil:
		return "array schema missing items."
	}
	return ""
}

// besideRef returns the keywords of a schema beside its reference.
func besideRef(s jsonschema.Schema) []string {
	s.Ref = ""
	var keywords map[string]json.RawMessage
	text, err := json.Marshal(s)
	if err != nil || json.Unmarshal(text, &keywords) != nil { // a schema without keywords is written as true
		return nil
	}
	return slices.Sorted(maps.Keys(keywords))
}

func strictObject(s *jsonschema.Schema) string {
	if !slices.Contains(typesOf(s), "object") {
		return ""
	}
	if s.AdditionalProperties == nil || s.AdditionalProperties.Not == nil {
		return "'additionalProperties' is required to be supplied and to be false."
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(s.Required, name) {
			return "'required' is required to be supplied and to be an array including every key in properties. " +
				"Missing '" + name + "'."
		}
	}
	return ""
}

func strictFormat(s *jsonschema.Schema) string {
	if s.Format == "" || slices.Contains(strictFormats, s.Format) {
		return ""
	}
	return "'" + s.Format + "' is not a valid format."
}
