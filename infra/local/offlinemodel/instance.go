package offlinemodel

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// instance builds a value that a schema allows, as near to a wish as the schema lets it be.
type instance struct {
	root *schema
	// hint gives the wish for a property that nobody wished anything for; nil for none.
	hint func(property string, s *schema) any
	// left bounds the size of what is built, so that a schema that refers to itself ends.
	left int
}

// maxInstance is how many values an instance may have before the rest become null.
const maxInstance = 5000

func newInstance(root *schema, hint func(string, *schema) any) *instance {
	return &instance{root: root, hint: hint, left: maxInstance}
}

// value returns a value for s. depth is how deep it lies; very deep ones are null.
func (in *instance) value(s *schema, wish any, depth int) any {
	const deepest = 24
	s = in.merged(s.resolve(in.root))
	if in.left--; in.left < 0 || depth > deepest {
		return nil
	}
	switch {
	case s.Const != nil:
		return *s.Const
	case len(s.Enum) > 0:
		return chooseEnum(s.Enum, wish)
	case len(s.AnyOf) > 0:
		return in.value(in.variant(s.AnyOf, wish), wish, depth+1)
	case len(s.OneOf) > 0:
		return in.value(in.variant(s.OneOf, wish), wish, depth+1)
	}
	switch s.kind(wish) {
	case "object":
		return in.object(s, wish, depth)
	case "array":
		return in.array(s, wish, depth)
	case "string":
		return s.text(wish)
	case "integer":
		return int64(s.number(wish, 1))
	case "number":
		return s.number(wish, 0)
	case "boolean":
		return wish == true
	default:
		return nil
	}
}

// merged folds the members of allOf into one schema.
func (in *instance) merged(s *schema) *schema {
	if len(s.AllOf) == 0 {
		return s
	}
	all := *s
	all.AllOf, all.Properties = nil, maps.Clone(s.Properties)
	if all.Properties == nil {
		all.Properties = map[string]*schema{}
	}
	for _, member := range s.AllOf {
		member = member.resolve(in.root)
		maps.Copy(all.Properties, member.Properties)
		all.Required = slices.Concat(all.Required, member.Required)
		if len(all.Type) == 0 {
			all.Type = member.Type
		}
	}
	return &all
}

// kind is the type to build: the one that the wish has where the schema allows it, else null where it may be null and
// nothing was wished, else the first allowed.
func (s *schema) kind(wish any) string {
	wished := kindOf(wish)
	switch {
	case slices.Contains(s.Type, wished):
		return wished
	case wished == "integer" && slices.Contains(s.Type, "number"):
		return "number"
	}
	for _, allowed := range s.Type {
		if allowed != "null" {
			return allowed
		}
	}
	switch {
	case len(s.Type) > 0:
		return "null"
	case s.Properties != nil:
		return "object"
	case s.Items != nil:
		return "array"
	case wish != nil:
		return wished
	default:
		return "string"
	}
}

// kindOf names the JSON type of a wish.
func kindOf(wish any) string {
	switch wish.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int, int64:
		return "integer"
	case float64:
		return "number"
	default:
		return ""
	}
}

// chooseEnum gives the wish where it is allowed, null where nothing was wished and null is, else the first value.
func chooseEnum(values []any, wish any) any {
	for _, v := range values {
		if reflect.DeepEqual(v, wish) {
			return v
		}
	}
	return values[0]
}

// variant picks the first schema that allows the wish's type, else the first at all.
func (in *instance) variant(variants []*schema, wish any) *schema {
	for _, v := range variants {
		resolved := in.merged(v.resolve(in.root))
		if slices.Contains(resolved.Type, kindOf(wish)) {
			return resolved
		}
	}
	return variants[0]
}

func (in *instance) nullable(s *schema) bool {
	isNull := func(v *schema) bool { return slices.Contains(v.resolve(in.root).Type, "null") }
	return isNull(s) || slices.ContainsFunc(s.AnyOf, isNull) || slices.ContainsFunc(s.OneOf, isNull)
}

// object has what is wished of the known properties, and what is required.
func (in *instance) object(s *schema, wish any, depth int) any {
	wishes, _ := wish.(map[string]any)
	built := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := in.merged(s.Properties[name].resolve(in.root))
		required := slices.Contains(s.Required, name)
		wished, ok := wishes[name]
		if !ok && required && in.hint != nil && !in.nullable(property) {
			wished = in.hint(name, property)
		}
		if wished != nil || required {
			built[name] = in.value(property, wished, depth+1)
		}
	}
	for _, name := range s.Required {
		if _, known := s.Properties[name]; !known {
			built[name] = ""
		}
	}
	return built
}

func (in *instance) array(s *schema, wish any, depth int) any {
	wishes, _ := wish.([]any)
	if s.MaxItems != nil && len(wishes) > *s.MaxItems {
		wishes = wishes[:max(0, *s.MaxItems)]
	}
	built := []any{}
	for _, w := range wishes {
		built = append(built, in.value(s.Items.resolve(in.root), w, depth+1))
	}
	for len(built) < s.MinItems && in.left > 0 {
		built = append(built, in.value(s.Items.resolve(in.root), nil, depth+1))
	}
	return built
}

// formats are examples of the string formats.
var formats = map[string]string{
	"date-time": "1970-01-01T00:00:00Z", "date": "1970-01-01", "time": "00:00:00Z", "duration": "PT0S",
	"email": "user@example.com", "uuid": "00000000-0000-4000-8000-000000000000", "uri": "https://example.com/",
	"hostname": "example.com", "ipv4": "127.0.0.1", "ipv6": "::1",
}

// text is the wish as a string within the schema's bounds. A pattern is met by the wish or by one of a few plain
// examples; where none meets it the text stays as it is.
func (s *schema) text(wish any) string {
	if example, ok := formats[s.Format]; ok {
		return example
	}
	text := ""
	if wish != nil {
		text = strings.ToValidUTF8(fmt.Sprint(wish), "")
	}
	text = s.boundText(text)
	pattern, err := regexp.Compile(s.Pattern)
	if err != nil || pattern.MatchString(text) {
		return text
	}
	for _, example := range []string{"", "a", "A", "0", "a0", "1970-01-01", "00:00", "a-0", "user@example.com"} {
		if pattern.MatchString(s.boundText(example)) {
			return s.boundText(example)
		}
	}
	return text
}

func (s *schema) boundText(text string) string {
	const longest = 100_000
	if short := min(s.MinLength, longest) - utf8.RuneCountInString(text); short > 0 {
		text += strings.Repeat(".", short)
	}
	if s.MaxLength != nil && utf8.RuneCountInString(text) > *s.MaxLength {
		text = string([]rune(text)[:max(0, *s.MaxLength)])
	}
	return text
}

// number is the wish within the schema's bounds; a whole one steps by 1.
func (s *schema) number(wish any, step float64) float64 {
	n := 0.0
	switch w := wish.(type) {
	case int:
		n = float64(w)
	case int64:
		n = float64(w)
	case float64:
		n = w
	}
	if s.MultipleOf > 0 {
		step = s.MultipleOf
	}
	low, high := s.bounds(step)
	n = math.Min(math.Max(n, low), high)
	if step > 0 {
		n = math.Ceil(n/step) * step
		if n > high {
			n -= step
		}
	}
	return math.Min(math.Max(n, -1e15), 1e15)
}

// bounds are the least and the greatest number allowed; an excluded bound is left by a step, or by half the way.
func (s *schema) bounds(step float64) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if s.Minimum != nil {
		low = *s.Minimum
	}
	if s.Maximum != nil {
		high = *s.Maximum
	}
	away := step
	if away == 0 {
		away = 1
		if s.Above != nil && s.Below != nil {
			away = (*s.Below - *s.Above) / 2
		}
	}
	if s.Above != nil {
		low = math.Max(low, *s.Above+away)
	}
	if s.Below != nil {
		high = math.Min(high, *s.Below-away)
	}
	return low, high
}
