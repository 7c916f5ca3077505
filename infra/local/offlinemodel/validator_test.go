package offlinemodel_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkAgainst fails the test unless the JSON text is allowed by the schema. It knows the keywords that these tests
// use, and is written apart from the code it checks.
func checkAgainst(t *testing.T, schemaText, text string) {
	t.Helper()
	var root, value any
	if err := json.Unmarshal([]byte(schemaText), &root); err != nil {
		t.Fatalf("schema: %v", err)
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("not JSON: %v: %s", err, text)
	}
	if found := (validator{root}).violation(root, value, "$"); found != "" {
		t.Fatalf("%s in %s", found, text)
	}
}

// validator checks values against the schemas of a document.
type validator struct{ root any }

// violation describes how the value breaks the schema. It is empty if the value is valid.
func (d validator) violation(schema, value any, path string) string {
	keywords, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return path + ": nothing is allowed"
		}
		return ""
	}
	checks := []string{typeViolation(keywords, value), d.variantViolation(keywords, value)}
	switch v := value.(type) {
	case map[string]any:
		checks = append(checks, d.objectViolation(keywords, v, path))
	case []any:
		checks = append(checks, d.arrayViolation(keywords, v, path))
	case float64:
		checks = append(checks, numberViolation(keywords, v))
	case string:
		checks = append(checks, textViolation(keywords, v))
	}
	for _, found := range checks {
		if found != "" {
			return path + ": " + found
		}
	}
	return ""
}

// variantViolation checks what refers to other schemas.
func (d validator) variantViolation(schema map[string]any, value any) string {
	if ref, ok := schema["$ref"].(string); ok {
		at := d.root
		for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			switch within := at.(type) {
			case map[string]any:
				at = within[strings.ReplaceAll(step, "~1", "/")]
			case []any:
				i, _ := strconv.Atoi(step)
				at = within[i]
			}
		}
		if found := d.violation(at, value, ref); found != "" {
			return found
		}
	}
	for keyword, allowed := range map[string]func(follows, all int) bool{
		"anyOf": func(n, _ int) bool { return n > 0 },
		"oneOf": func(n, _ int) bool { return n == 1 },
		"allOf": func(n, all int) bool { return n == all },
	} {
		variants, ok := schema[keyword].([]any)
		follows := 0
		for _, v := range variants {
			if d.violation(v, value, "") == "" {
				follows++
			}
		}
		if ok && !allowed(follows, len(variants)) {
			return fmt.Sprintf("follows %d of %s", follows, keyword)
		}
	}
	return ""
}

func numberViolation(schema map[string]any, n float64) string {
	for keyword, holds := range map[string]func(bound float64) bool{
		"minimum": func(b float64) bool { return n >= b }, "exclusiveMinimum": func(b float64) bool { return n > b },
		"maximum": func(b float64) bool { return n <= b }, "exclusiveMaximum": func(b float64) bool { return n < b },
		"multipleOf": func(b float64) bool { return n/b == math.Trunc(n/b) },
	} {
		if bound, ok := schema[keyword].(float64); ok && !holds(bound) {
			return fmt.Sprintf("%v breaks %s %v", n, keyword, bound)
		}
	}
	return ""
}

// formats has a pattern for each format of the tests' schemas.
var formats = map[string]string{
	"date": `^\d{4}-\d\d-\d\d$`, "date-time": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, "email": `^\S+@\S+\.\w+$`,
	"uuid": `^\w{8}-\w{4}-4\w{3}-[89ab]\w{3}-\w{12}$`, "ipv6": `^[0-9a-f:]+$`,
}

func textViolation(schema map[string]any, text string) string {
	length := float64(utf8.RuneCountInString(text))
	if least, ok := schema["minLength"].(float64); ok && length < least {
		return "too short"
	}
	if most, ok := schema["maxLength"].(float64); ok && length > most {
		return "too long"
	}
	if format, ok := schema["format"].(string); ok && !regexp.MustCompile(formats[format]).MatchString(text) {
		return text + " is no " + format
	}
	written, _ := schema["pattern"].(string)
	if pattern, err := regexp.Compile(written); err == nil && !pattern.MatchString(text) {
		return fmt.Sprintf("%q does not match %s", text, pattern)
	}
	return ""
}

func typeViolation(schema map[string]any, value any) string {
	equal := func(e any) bool { return reflect.DeepEqual(e, value) }
	if constant, ok := schema["const"]; ok && !equal(constant) {
		return "not the constant"
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(enum, equal) {
		return "not in the enum"
	}
	var types []any
	switch declared := schema["type"].(type) {
	case string:
		types = []any{declared}
	case []any:
		types = declared
	default:
		return ""
	}
	actual := map[reflect.Kind]string{
		reflect.Map: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean",
		reflect.Float64: "number", reflect.Invalid: "null",
	}[reflect.ValueOf(value).Kind()]
	number, isNumber := value.(float64)
	isInteger := isNumber && number == math.Trunc(number)
	if slices.Contains(types, any(actual)) || isInteger && slices.Contains(types, any("integer")) {
		return ""
	}
	return fmt.Sprintf("a %s is none of %v", actual, types)
}

func (d validator) objectViolation(schema, value map[string]any, path string) string {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := value[name.(string)]; !ok {
			return fmt.Sprintf("%v is missing", name)
		}
	}
	for name, v := range value {
		property, known := properties[name]
		if !known {
			property = schema["additionalProperties"]
		}
		if found := d.violation(property, v, path+"."+name); found != "" {
			return found
		}
	}
	return ""
}

func (d validator) arrayViolation(schema map[string]any, value []any, path string) string {
	first, _ := schema["prefixItems"].([]any)
	items := schema["items"]
	if listed, ok := items.([]any); ok {
		first, items = listed, nil
	}
	for i, v := range value {
		item := items
		if i < len(first) {
			item = first[i]
		}
		if found := d.violation(item, v, fmt.Sprintf("%s[%d]", path, i)); found != "" {
			return found
		}
		equal := func(e any) bool { return reflect.DeepEqual(e, v) }
		if schema["uniqueItems"] == true && slices.ContainsFunc(value[:i], equal) {
			return "an item is repeated"
		}
	}
	if least, ok := schema["minItems"].(float64); ok && float64(len(value)) < least {
		return "too few items"
	}
	if most, ok := schema["maxItems"].(float64); ok && float64(len(value)) > most {
		return "too many items"
	}
	return ""
}
