package openaiserver

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// builder builds one value by a schema. What it builds may still break a keyword that it does not look at.
type builder struct {
	// text is the wish for a required string that has none.
	text string
	// parts is the size of the value so far.
	parts   int
	problem error
	// resolved are the schemas that first has used. An array uses one for each of its items.
	resolved map[*jsonschema.Schema]*jsonschema.Resolved
}

func newBuilder(text string) *builder {
	return &builder{text: text, resolved: map[*jsonschema.Schema]*jsonschema.Resolved{}}
}

var errTooLarge = fmt.Errorf("a value of more than %d parts", maxValue)

// build returns a value that is as near to the wish as the schema lets it be.
func (b *builder) build(s *jsonschema.Schema, wish any) any {
	if b.parts++; b.parts > maxValue {
		b.problem = errTooLarge
		return nil
	}
	if values := valuesOf(s); len(values) > 0 {
		return b.first(s, append([]any{wish}, values...))
	}
	if variant := variantOf(s, wish); variant != nil {
		return b.build(variant, wish)
	}
	switch buildKind(s, wish) {
	case "object":
		return b.object(s, wish)
	case "array":
		return b.array(s, wish)
	case "string":
		said, _ := wish.(string)
		return b.string(s, said)
	case "integer", "number":
		n, _ := wish.(float64)
		return b.first(s, numbers(s, n))
	case "boolean":
		return wish == true
	case "":
		return wish
	default:
		return nil
	}
}

// object has the known properties that are wished, and all that are required or constant.
func (b *builder) object(s *jsonschema.Schema, wish any) any {
	wishes, _ := wish.(map[string]any)
	built := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		needed := slices.Contains(s.Required, name) || len(valuesOf(property)) == 1
		wished, ok := wishes[name]
		if !ok && needed && wantsText(property) {
			wished = b.text
		}
		if wished != nil || needed {
			built[name] = b.build(property, wished)
		}
	}
	return built
}

// wantsText reports whether a required value without a wish is a text. One that may be null is null.
func wantsText(s *jsonschema.Schema) bool {
	return !allowsKind(s, "null") && buildKind(s, nil) == "string"
}

// array has what is wished, and as many further items as there have to be.
func (b *builder) array(s *jsonschema.Schema, wish any) any {
	wishes, _ := wish.([]any)
	least := len(s.PrefixItems)
	if s.MinItems != nil {
		least = max(least, *s.MinItems)
	}
	built := []any{}
	for i := 0; i < max(len(wishes), least) && b.problem == nil; i++ {
		item := s.Items
		if i < len(s.PrefixItems) {
			item = s.PrefixItems[i]
		}
		if item == nil || s.MaxItems != nil && len(built) == *s.MaxItems {
			break
		}
		var wished any
		if i < len(wishes) {
			wished = wishes[i]
		}
		value := b.build(item, wished)
		isValue := func(other any) bool { return reflect.DeepEqual(other, value) }
		if !s.UniqueItems || !slices.ContainsFunc(built, isValue) {
			built = append(built, value)
		}
	}
	return built
}

// string returns a text that a schema allows.
func (b *builder) string(s *jsonschema.Schema, wish string) any {
	if s.MinLength != nil {
		b.parts += *s.MinLength
	}
	if b.parts > maxValue {
		b.problem = errTooLarge
		return nil
	}
	return b.first(s, texts(s, wish))
}

// first returns the first candidate that a schema allows.
func (b *builder) first(s *jsonschema.Schema, candidates []any) any {
	valid := b.resolved[s]
	if valid == nil {
		var err error
		if valid, err = s.CloneSchemas().Resolve(nil); err != nil {
			b.problem = err
			return nil
		}
		b.resolved[s] = valid
	}
	err := errors.New("a format that this model has no example of")
	for _, candidate := range candidates {
		if err = valid.Validate(candidate); err == nil {
			return candidate
		}
	}
	b.problem = fmt.Errorf("no value that this model finds: %w", err)
	return nil
}

// valuesOf are the values that a schema lists.
func valuesOf(s *jsonschema.Schema) []any {
	if s.Const != nil {
		return []any{*s.Const}
	}
	return s.Enum
}

// variantsOf are the schemas of which a value follows one.
func variantsOf(s *jsonschema.Schema) []*jsonschema.Schema {
	return slices.Concat(s.AnyOf, s.OneOf, s.AllOf)
}

// variantOf returns the schema to follow of anyOf, oneOf or allOf: the first that allows the wish, else the first that
// allows more than null. It is nil where there are none.
func variantOf(s *jsonschema.Schema, wish any) *jsonschema.Schema {
	variants := variantsOf(s)
	for _, allows := range []func(*jsonschema.Schema) bool{
		func(v *jsonschema.Schema) bool { return allowsKind(v, kindOf(wish)) },
		func(v *jsonschema.Schema) bool { return buildKind(v, nil) != "null" },
		func(*jsonschema.Schema) bool { return true },
	} {
		if i := slices.IndexFunc(variants, allows); i >= 0 {
			return variants[i]
		}
	}
	return nil
}

// allowsKind reports whether a value of a type is allowed, as far as its type goes.
func allowsKind(s *jsonschema.Schema, kind string) bool {
	if variants := variantsOf(s); variants != nil {
		return slices.ContainsFunc(variants, func(v *jsonschema.Schema) bool { return allowsKind(v, kind) })
	}
	types := typesOf(s)
	return slices.Contains(types, kind) || kind == "number" && slices.Contains(types, "integer")
}

// buildKind returns the type to build: the wish's where the schema allows it, else the first that is not null. It is
// empty for a schema that allows everything.
func buildKind(s *jsonschema.Schema, wish any) string {
	if variant := variantOf(s, wish); variant != nil {
		return buildKind(variant, wish)
	}
	types, wished := typesOf(s), kindOf(wish)
	if len(types) == 0 {
		return ""
	}
	if slices.Contains(types, wished) {
		return wished
	}
	if i := slices.IndexFunc(types, func(t string) bool { return t != "null" }); i >= 0 {
		return types[i]
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

// numbers are the wish, numbers at the bounds, between them, and 0.
func numbers(s *jsonschema.Schema, wish float64) []any {
	step := 1.0
	if s.MultipleOf != nil {
		step = *s.MultipleOf
	}
	lows, highs := []*float64{s.Minimum, s.ExclusiveMinimum}, []*float64{s.Maximum, s.ExclusiveMaximum}
	candidates := []any{wish}
	for _, bound := range slices.Concat(lows, highs) {
		if bound != nil {
			below, above := math.Floor(*bound/step)*step, math.Ceil(*bound/step)*step
			candidates = append(candidates, *bound, above, above+step, below, below-step)
		}
	}
	for _, low := range lows {
		for _, high := range highs {
			if low != nil && high != nil {
				candidates = append(candidates, *low+(*high-*low)/2)
			}
		}
	}
	return append(candidates, 0.0)
}
