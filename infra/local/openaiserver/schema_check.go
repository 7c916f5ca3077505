package openaiserver

import (
	"errors"
	"fmt"
	"slices"
)

// check refuses what no value could be promised for. The schemas within s have been checked.
func (s *schema) check() error {
	for _, name := range s.Type {
		if !slices.Contains(schemaTypes, name) {
			return fmt.Errorf("unknown type %q", name)
		}
	}
	switch {
	case s.variants() != nil && (len(s.Type) > 0 || s.Enum != nil):
		return errors.New("'anyOf', 'oneOf' or 'allOf' beside a type")
	case len(s.AllOf) > 1:
		return errors.New("'allOf' of more than one schema")
	case !apart(s.OneOf):
		return errors.New("'oneOf' of schemas that no type and no constant property tells apart")
	case s.least() > maxValue:
		return fmt.Errorf("a value of more than %d parts", maxValue)
	}
	return s.checkKinds()
}

// checkKinds refuses the bounds of an array, a number or a text that leave no value that this model finds.
func (s *schema) checkKinds() error {
	allowed := func(kind string) bool { return len(s.Enum) == 0 && slices.Contains(s.Type, kind) }
	if allowed("array") {
		if err := s.checkArray(); err != nil {
			return err
		}
	}
	if whole := allowed("integer"); whole || allowed("number") {
		if _, ok := s.number(0, whole); !ok {
			return errors.New("a number whose bounds leave none that this model finds")
		}
	}
	if allowed("string") {
		if _, ok := s.text(""); !ok {
			return errors.New("a string that this model finds no text for: see its pattern, format and lengths")
		}
	}
	for _, name := range s.Required {
		if allowed("object") && s.Properties[name] == nil {
			return fmt.Errorf("'%s' is required and no property", name)
		}
	}
	return nil
}

func (s *schema) checkArray() error {
	known := len(s.first())
	switch {
	case s.Items.each == nil && known == 0:
		return errors.New("an array without items")
	case s.Items.each == nil && s.MinItems > known || s.MaxItems != nil && s.MinItems > *s.MaxItems:
		return errors.New("an array whose bounds leave none")
	case s.UniqueItems && s.MinItems > 1:
		return errors.New("an array of several items that differ")
	}
	return nil
}

// variants are the schemas of which a value has to follow one.
func (s *schema) variants() []*schema { return slices.Concat(s.AnyOf, s.OneOf, s.AllOf) }

// least is the size of the smallest value of s.
func (s *schema) least() int {
	size := 1
	if slices.Contains(s.Type, "string") {
		size += max(s.MinLength, 0)
	}
	for _, part := range slices.Concat(s.variants(), s.first()) {
		size += part.least()
	}
	for _, name := range s.Required {
		if property := s.Properties[name]; property != nil {
			size += property.least()
		}
	}
	if s.Items.each != nil && s.MinItems > 0 {
		size += min(s.MinItems, maxValue) * s.Items.each.least()
	}
	return min(size, maxValue+1)
}

// apart reports whether no value that is built follows two of the schemas: they allow other types, or a property that
// each writes has other values.
func apart(variants []*schema) bool {
	for i, a := range variants {
		for _, b := range variants[:i] {
			if !a.differs(b) {
				return false
			}
		}
	}
	return true
}

func (s *schema) differs(other *schema) bool {
	if s.disjoint(other) {
		return true
	}
	for name, property := range s.Properties {
		if s.writes(name) && other.writes(name) && property.disjoint(other.Properties[name]) {
			return true
		}
	}
	return false
}

// writes reports whether build writes a property in every object: one that is required, or that is constant, as the tag
// of a union is.
func (s *schema) writes(name string) bool {
	property := s.Properties[name]
	return property != nil && (slices.Contains(s.Required, name) || len(property.Enum) == 1)
}

// disjoint reports whether two schemas have no type or no listed value in common.
func (s *schema) disjoint(other *schema) bool {
	if len(s.Enum) > 0 && len(other.Enum) > 0 {
		return !slices.ContainsFunc(s.Enum, func(v any) bool { return contains(other.Enum, v) })
	}
	numeric := func(t string) bool { return t == "number" || t == "integer" }
	shared := func(t string) bool {
		return slices.Contains(other.Type, t) || numeric(t) && slices.ContainsFunc(other.Type, numeric)
	}
	return len(s.Type) > 0 && len(other.Type) > 0 && !slices.ContainsFunc(s.Type, shared)
}
