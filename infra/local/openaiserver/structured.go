package openaiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// structured answers with JSON that the request's schema allows.
func (s *server) structured(c Conversation, format jsonSchema) string {
	values, text := s.model.Fill(c, format.Name)
	return marshalText(mustParse(format.Schema).build(values, text))
}

// mustParse parses a schema that validate has read.
func mustParse(data json.RawMessage) *schema {
	s, err := parseSchema(data)
	if err != nil {
		panic(err)
	}
	return s
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

// checkFormat refuses a response format as the service does. A strict format closes every object and requires every
// property.
func checkFormat(format jsonSchema) error {
	invalid := func(reason string) error {
		return badRequest("response_format.json_schema.schema", "Invalid schema for response_format '%s': %s",
			format.Name, reason)
	}
	root, err := parseSchema(format.Schema)
	if err != nil {
		return invalid("the offline model cannot fill it: " + err.Error())
	}
	if !format.Strict {
		return nil
	}
	if root.Ref != "" || !slices.Equal(root.Type, typeList{"object"}) {
		return invalid("schema must have type 'object' at its root.")
	}
	if reason := root.strictProblem(); reason != "" {
		return invalid(reason)
	}
	return nil
}

// strictFormats are the formats of texts that the strict mode knows.
var strictFormats = strings.Fields("date-time time date duration email hostname ipv4 ipv6 uuid")

// strictProblem says what the strict mode does not allow in a schema. It is empty where there is nothing. The rules are
// those of the service's guide on structured outputs and of the OpenAI library for Node, which refuses the same
// keywords before it sends a strict schema.
func (s *schema) strictProblem() string {
	for _, problem := range []func() string{s.strictKeywords, s.strictObject, s.strictFormat} {
		if reason := problem(); reason != "" {
			return reason
		}
	}
	for _, child := range s.children() {
		if reason := child.strictProblem(); reason != "" {
			return reason
		}
	}
	return ""
}

// strictKeywords names a keyword that the strict mode does not take, or the lack of one that it needs.
func (s *schema) strictKeywords() string {
	switch {
	case s.Ref != "" && len(s.annotations) > 0:
		return fmt.Sprintf("$ref cannot have keywords {'%s'}.", strings.Join(s.annotations, "', '"))
	case s.OneOf != nil:
		return "'oneOf' is not permitted."
	case s.AllOf != nil:
		return "'allOf' is not permitted."
	case s.PrefixItems != nil || s.Items.list != nil:
		return "'prefixItems' is not permitted."
	case s.UniqueItems:
		return "'uniqueItems' is not permitted."
	case s.PropertyNames != nil:
		return "'propertyNames' is not permitted."
	case len(s.Type) == 0 && s.Enum == nil && s.AnyOf == nil:
		return "schema must have a 'type' key."
	}
	return ""
}

func (s *schema) strictObject() string {
	if !slices.Contains(s.Type, "object") {
		return ""
	}
	if string(s.AdditionalProperties) != "false" {
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

func (s *schema) strictFormat() string {
	if s.Format == "" || slices.Contains(strictFormats, s.Format) {
		return ""
	}
	return "'" + s.Format + "' is not a valid format."
}
