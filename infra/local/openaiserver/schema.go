package openaiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
)

// schema is the part of JSON Schema that this model fills: what zod and Pydantic write, except for recursion. It
// refuses other keywords, because it could not promise an answer that they allow.
type schema struct {
	Type  typeList  `json:"type"`
	Enum  []any     `json:"enum"`
	Ref   string    `json:"$ref"`
	AnyOf []*schema `json:"anyOf"`
	OneOf []*schema `json:"oneOf"`
	AllOf []*schema `json:"allOf"`

	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	AdditionalProperties json.RawMessage    `json:"additionalProperties"` // none is ever added
	PropertyNames        json.RawMessage    `json:"propertyNames"`        // of such properties

	Items       itemSchemas `json:"items"`
	PrefixItems []*schema   `json:"prefixItems"`
	MinItems    int         `json:"minItems"`
	MaxItems    *int        `json:"maxItems"`
	UniqueItems bool        `json:"uniqueItems"`

	bounds
	texts
	Const json.RawMessage `json:"const"` // an enumeration of one

	// annotations are the keywords of a schema that say something about it and forbid no value.
	annotations []string
}

// annotations are the keywords that forbid no value. $defs and definitions hold what $ref points to.
var annotations = strings.Fields(`$comment $defs $id $schema default definitions deprecated description discriminator
	examples readOnly title writeOnly`)

// maxSchemas bounds how many schemas one may be made of, and maxValue the size of its least value, so that references
// to references cannot fill the memory.
const (
	maxSchemas = 10_000
	maxValue   = 10_000
)

var errNull = errors.New("a null in the place of a schema")

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

// itemSchemas are the schema of all items, or, as draft 7 writes a tuple, one for each of the first.
type itemSchemas struct {
	each *schema
	list []*schema
}

// UnmarshalJSON reads both forms of items, and false, which allows none.
func (i *itemSchemas) UnmarshalJSON(data []byte) error {
	switch {
	case string(data) == "false":
		return nil
	case bytes.HasPrefix(data, []byte("[")):
		return json.Unmarshal(data, &i.list)
	}
	return json.Unmarshal(data, &i.each)
}

// UnmarshalJSON reads a schema, or true, which allows everything.
func (s *schema) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		return nil
	}
	var keywords map[string]json.RawMessage
	if err := json.Unmarshal(data, &keywords); err != nil {
		return errors.New("a schema that is not an object")
	}
	if keywords == nil {
		return errNull
	}
	for _, name := range slices.Sorted(maps.Keys(keywords)) {
		if slices.Contains(annotations, name) {
			s.annotations = append(s.annotations, name)
			delete(keywords, name)
		}
	}
	if _, ok := keywords["$ref"]; ok && len(keywords) > 1 {
		return errors.New("'$ref' beside other keywords")
	}
	bare, err := json.Marshal(keywords)
	if err != nil {
		return err
	}
	type plain schema
	decoder := json.NewDecoder(bytes.NewReader(bare))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(s)); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return s.normalize()
}

// normalize gives a schema the type that its keywords imply, and makes a constant an enumeration.
func (s *schema) normalize() error {
	if s.Const != nil {
		var value any
		if err := json.Unmarshal(s.Const, &value); err != nil {
			return err
		}
		s.Enum = []any{value}
	}
	if len(s.Type) == 0 && s.Enum == nil {
		s.Type = s.implied()
	}
	return nil
}

// implied is the type that the keywords of a schema are about. A schema without any allows every type.
func (s *schema) implied() typeList {
	switch {
	case s.Properties != nil || s.Required != nil:
		return typeList{"object"}
	case s.Items.each != nil || s.first() != nil || s.MinItems > 0 || s.MaxItems != nil:
		return typeList{"array"}
	case s.bounds != bounds{}:
		return typeList{"number"}
	case s.texts != texts{}:
		return typeList{"string"}
	}
	return nil
}

// parseSchema reads a schema. The error names what this model cannot fill.
func parseSchema(data json.RawMessage) (*schema, error) {
	s := &schema{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, err
	}
	r := resolver{open: []string{"#"}}
	if err := json.Unmarshal(data, &r.root); err != nil {
		return nil, err
	}
	if err := r.resolve(s); err != nil {
		return nil, err
	}
	return s, nil
}

// children are the schemas directly within s, in a fixed order.
func (s *schema) children() []*schema {
	all := slices.Concat(s.AnyOf, s.OneOf, s.AllOf, s.first())
	if s.Items.each != nil {
		all = append(all, s.Items.each)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		all = append(all, s.Properties[name])
	}
	return all
}

// first are the schemas of an array's first items.
func (s *schema) first() []*schema { return slices.Concat(s.PrefixItems, s.Items.list) }
