package offlinemodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema is the part of JSON Schema that response formats and tool parameters use.
type schema struct {
	Ref        string             `json:"$ref"`
	Defs       map[string]*schema `json:"$defs"`
	OldDefs    map[string]*schema `json:"definitions"`
	Type       typeList           `json:"type"`
	Enum       []any              `json:"enum"`
	Const      *any               `json:"const"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Closed     *bool              `json:"-"` // additionalProperties, where it is true or false
	Items      *schema            `json:"items"`
	MinItems   int                `json:"minItems"`
	MaxItems   *int               `json:"maxItems"`
	MinLength  int                `json:"minLength"`
	MaxLength  *int               `json:"maxLength"`
	Pattern    string             `json:"pattern"`
	Format     string             `json:"format"`
	Minimum    *float64           `json:"minimum"`
	Maximum    *float64           `json:"maximum"`
	Above      *float64           `json:"exclusiveMinimum"`
	Below      *float64           `json:"exclusiveMaximum"`
	MultipleOf float64            `json:"multipleOf"`
	AnyOf      []*schema          `json:"anyOf"`
	OneOf      []*schema          `json:"oneOf"`
	AllOf      []*schema          `json:"allOf"`
}

// UnmarshalJSON reads a schema; the schemas true and false are read as one that allows everything.
func (s *schema) UnmarshalJSON(data []byte) error {
	if text := string(bytes.TrimSpace(data)); text == "true" || text == "false" {
		return nil
	}
	type plain schema
	var read struct {
		plain
		Additional json.RawMessage `json:"additionalProperties"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	*s = schema(read.plain)
	if text := string(read.Additional); text == "true" || text == "false" {
		closed := text == "false"
		s.Closed = &closed
	}
	return nil
}

// typeList is one type or several.
type typeList []string

// UnmarshalJSON reads both forms of type.
func (t *typeList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = typeList{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

func parseSchema(data json.RawMessage) (*schema, error) {
	var s schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	return &s, nil
}

// resolve follows a local reference within root; what it cannot find allows everything. References that lead in a
// circle end after a few steps.
func (s *schema) resolve(root *schema) *schema {
	const steps = 8
	for range steps {
		if s == nil {
			return &schema{}
		}
		if s.Ref == "" {
			return s
		}
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		switch {
		case s.Ref == "#":
			s = root
		case root.Defs[name] != nil:
			s = root.Defs[name]
		default:
			s = root.OldDefs[name]
		}
	}
	return &schema{}
}

// children are the schemas directly within s, in a fixed order.
func (s *schema) children() []*schema {
	all := slices.Concat(s.AnyOf, s.OneOf, s.AllOf, []*schema{s.Items})
	for _, named := range []map[string]*schema{s.Properties, s.Defs, s.OldDefs} {
		for _, name := range slices.Sorted(maps.Keys(named)) {
			all = append(all, named[name])
		}
	}
	return slices.DeleteFunc(all, func(child *schema) bool { return child == nil })
}

// checkSchema refuses a response format as the service does: strict ones close every object and require every property.
func checkSchema(format jsonSchema) error {
	const param = "response_format.json_schema.schema"
	invalid := func(reason string) error {
		return badRequest(param, "Invalid schema for response_format '%s': %s", format.Name, reason)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(format.Schema), []byte("{")) {
		return invalid("schema must be a JSON Schema object.")
	}
	root, err := parseSchema(format.Schema)
	if err != nil {
		return invalid("it is not a JSON Schema.")
	}
	if !format.Strict {
		return nil
	}
	if !slices.Equal(root.Type, typeList{"object"}) {
		return invalid("schema must have type 'object' at its root.")
	}
	if reason := root.strictFault(); reason != "" {
		return invalid(reason)
	}
	return nil
}

// strictFault says what of a schema, or of one within it, the strict mode does not allow; empty for nothing.
func (s *schema) strictFault() string {
	if slices.Contains(s.Type, "object") || s.Properties != nil {
		if s.Closed == nil || !*s.Closed {
			return "'additionalProperties' is required to be supplied and to be false."
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if !slices.Contains(s.Required, name) {
				return "'required' is required to be supplied and to be an array including every key in properties. Missing '" + name + "'."
			}
		}
	}
	for _, child := range s.children() {
		if reason := child.strictFault(); reason != "" {
			return reason
		}
	}
	return ""
}
