package openaiserver

import (
	"maps"
	"math"
	"reflect"
	"slices"
)

// build returns a value that the schema allows, as near to the wish as the schema lets it be. text is the wish for a
// required string that has none.
func (s *schema) build(wish any, text string) any {
	if len(s.Enum) > 0 {
		return chooseEnum(s.Enum, wish)
	}
	if variant := s.variant(wish); variant != nil {
		return variant.build(wish, text)
	}
	switch kind := s.kind(wish); kind {
	case "object":
		return s.buildObject(wish, text)
	case "array":
		return s.buildArray(wish, text)
	case "string":
		said, _ := wish.(string)
		built, _ := s.text(said) // check has seen that there is one
		return built
	case "integer", "number":
		n, _ := wish.(float64)
		built, _ := s.number(n, kind == "integer")
		return built
	case "boolean":
		return wish == true
	case "":
		return wish
	default:
		return nil
	}
}

// variant returns the schema to follow of anyOf, oneOf or allOf: the first that allows the wish, else the first that
// allows more than null. It is nil where there are none.
func (s *schema) variant(wish any) *schema {
	variants := s.variants()
	if len(variants) == 0 {
		return nil
	}
	for _, allows := range []func(*schema) bool{
		func(v *schema) bool { return v.allowsKind(kindOf(wish)) },
		func(v *schema) bool { return v.kind(nil) != "null" },
	} {
		if i := slices.IndexFunc(variants, allows); i >= 0 {
			return variants[i]
		}
	}
	return variants[0]
}

// allowsKind reports whether a value of a type is allowed, as far as its type goes.
func (s *schema) allowsKind(kind string) bool {
	if variants := s.variants(); variants != nil {
		return slices.ContainsFunc(variants, func(v *schema) bool { return v.allowsKind(kind) })
	}
	return slices.Contains(s.Type, kind) || kind == "number" && slices.Contains(s.Type, "integer")
}

// buildObject has the known properties that are wished, and all that are required or constant.
func (s *schema) buildObject(wish any, text string) any {
	wishes, _ := wish.(map[string]any)
	built := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		required := s.writes(name)
		wished, ok := wishes[name]
		if !ok && required && property.wantsText() {
			wished = text
		}
		if wished != nil || required {
			built[name] = property.build(wished, text)
		}
	}
	return built
}

// wantsText reports whether a required value without a wish is a text. One that may be null is null.
func (s *schema) wantsText() bool {
	return !s.allowsKind("null") && s.kind(nil) == "string"
}

// buildArray has what is wished, and as many further items as there have to be.
func (s *schema) buildArray(wish any, text string) any {
	wishes, _ := wish.([]any)
	first, built := s.first(), []any{}
	for i := 0; i < max(len(wishes), len(first), s.MinItems); i++ {
		item := s.Items.each
		if i < len(first) {
			item = first[i]
		}
		if item == nil || s.MaxItems != nil && len(built) == *s.MaxItems {
			break
		}
		value := item.build(at(wishes, i), text)
		if !s.UniqueItems || !contains(built, value) {
			built = append(built, value)
		}
	}
	return built
}

// at returns the i-th wish. It is nil where there are not so many.
func at(wishes []any, i int) any {
	if i < len(wishes) {
		return wishes[i]
	}
	return nil
}

// kind returns the type to build: the wish's where the schema allows it, else the first that is not null. It is empty
// for a schema that allows everything.
func (s *schema) kind(wish any) string {
	if variant := s.variant(wish); variant != nil {
		return variant.kind(wish)
	}
	wished := kindOf(wish)
	if slices.Contains(s.Type, wished) {
		return wished
	}
	for _, allowed := range s.Type {
		if allowed != "null" {
			return allowed
		}
	}
	if len(s.Type) == 0 {
		return ""
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
	if contains(values, wish) {
		return wish
	}
	return values[0]
}

func contains(values []any, value any) bool {
	return slices.ContainsFunc(values, func(v any) bool { return reflect.DeepEqual(v, value) })
}

// bounds are the keywords of numbers.
type bounds struct {
	Minimum          *float64 `json:"minimum"`
	Maximum          *float64 `json:"maximum"`
	ExclusiveMinimum *float64 `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64 `json:"exclusiveMaximum"`
	MultipleOf       *float64 `json:"multipleOf"`
}

// number returns the first allowed of the wish, the least, the greatest and the middle number. It reports whether one
// of them is.
func (b bounds) number(wish float64, whole bool) (float64, bool) {
	step := 1.0
	if b.MultipleOf != nil {
		step = *b.MultipleOf
	}
	candidates := []float64{wish}
	for _, bound := range []*float64{b.Minimum, b.ExclusiveMinimum, b.Maximum, b.ExclusiveMaximum} {
		if bound != nil {
			below, above := math.Floor(*bound/step)*step, math.Ceil(*bound/step)*step
			candidates = append(candidates, *bound, above, above+step, below, below-step)
		}
	}
	for _, low := range []*float64{b.Minimum, b.ExclusiveMinimum} {
		for _, high := range []*float64{b.Maximum, b.ExclusiveMaximum} {
			if low != nil && high != nil {
				candidates = append(candidates, *low+(*high-*low)/2)
			}
		}
	}
	candidates = append(candidates, 0)
	if i := slices.IndexFunc(candidates, func(n float64) bool { return b.allows(n, whole) }); i >= 0 {
		return candidates[i], true
	}
	return 0, false
}

func (b bounds) allows(n float64, whole bool) bool {
	return !math.IsInf(n, 0) && !math.IsNaN(n) && (!whole || n == math.Trunc(n)) &&
		(b.Minimum == nil || n >= *b.Minimum) && (b.Maximum == nil || n <= *b.Maximum) &&
		(b.ExclusiveMinimum == nil || n > *b.ExclusiveMinimum) &&
		(b.ExclusiveMaximum == nil || n < *b.ExclusiveMaximum) &&
		(b.MultipleOf == nil || math.Mod(n, *b.MultipleOf) == 0)
}
