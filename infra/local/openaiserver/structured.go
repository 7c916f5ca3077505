package openaiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
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

// schema is the part of JSON Schema that this model fills: objects, arrays, scalars, null and enumerations. It refuses
// other keywords, because it could not promise an answer that they allow.
type schema struct {
	Type                 typeList           `json:"type"`
	Description          string             `json:"description"`
	Enum                 []any              `json:"enum"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	AdditionalProperties *bool              `json:"additionalProperties"`
	Items                *schema            `json:"items"`
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

var schemaTypes = []string{"object", "array", "string", "integer", "number", "boolean", "null"}

// parseSchema reads a schema. The error names what this model cannot fill.
func parseSchema(data json.RawMessage) (*schema, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	s := &schema{}
	if err := decoder.Decode(s); err != nil {
		return nil, err
	}
	return s, s.check()
}

func (s *schema) check() error {
	for _, name := range s.Type {
		if !slices.Contains(schemaTypes, name) {
			return fmt.Errorf("unknown type %q", name)
		}
	}
	if len(s.Type) == 0 && len(s.Enum) == 0 {
		return errors.New("a schema without a type")
	}
	if slices.Contains(s.Type, "array") && s.Items == nil {
		return errors.New("an array without items")
	}
	for _, child := range s.children() {
		if child == nil {
			return errors.New("a null in the place of a schema")
		}
		if err := child.check(); err != nil {
			return err
		}
	}
	return nil
}

// children are the schemas directly within s, in a fixed order.
func (s *schema) children() (all []*schema) {
	if s.Items != nil {
		all = append(all, s.Items)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		all = append(all, s.Properties[name])
	}
	return all
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
	if !slices.Equal(root.Type, typeList{"object"}) {
		return invalid("schema must have type 'object' at its root.")
	}
	if reason := root.strictProblem(); reason != "" {
		return invalid(reason)
	}
	return nil
}

// strictProblem says what the strict mode does not allow in a schema. It is empty where there is nothing.
func (s *schema) strictProblem() string {
	if slices.Contains(s.Type, "object") || s.Properties != nil {
		if s.AdditionalProperties == nil || *s.AdditionalProperties {
			return "'additionalProperties' is required to be supplied and to be false."
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if !slices.Contains(s.Required, name) {
				return "'required' is required to be supplied and to be an array including every key in properties. " +
					"Missing '" + name + "'."
			}
		}
	}
	for _, child := range s.children() {
		if reason := child.strictProblem(); reason != "" {
			return reason
		}
	}
	return ""
}

// build returns a value that the schema allows, as near to the wish as the schema lets it be. text is the wish for a
// required string that has none.
func (s *schema) build(wish any, text string) any {
	if len(s.Enum) > 0 {
		return chooseEnum(s.Enum, wish)
	}
	switch s.kind(wish) {
	case "object":
		return s.buildObject(wish, text)
	case "array":
		wishes, _ := wish.([]any)
		built := []any{}
		for _, w := range wishes {
			built = append(built, s.Items.build(w, text))
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
	default:
		return nil
	}
}

// buildObject has the known properties that are wished, and all that are required.
func (s *schema) buildObject(wish any, text string) any {
	wishes, _ := wish.(map[string]any)
	built := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		required := slices.Contains(s.Required, name)
		wished, ok := wishes[name]
		if !ok && required && property.kind(nil) == "string" && !slices.Contains(property.Type, "null") {
			wished = text
		}
		if wished != nil || required {
			built[name] = property.build(wished, text)
		}
	}
	return built
}

// kind returns the type to build: the wish's where the schema allows it, else the first that is not null.
func (s *schema) kind(wish any) string {
	wished := kindOf(wish)
	if slices.Contains(s.Type, wished) {
		return wished
	}
	for _, allowed := range s.Type {
		if allowed != "null" {
			return allowed
		}
	}
	return "null"
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
	default:
		return "null"
	}
}

// chooseEnum returns the wish where it is allowed, else the first value.
func chooseEnum(values []any, wish any) any {
	for _, v := range values {
		if reflect.DeepEqual(v, wish) {
			return v
		}
	}
	return values[0]
}
