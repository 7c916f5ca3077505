package offlinemodel_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// checkAgainst fails the test unless the JSON text is allowed by the schema. It knows the keywords that these tests
// use, and is written apart from the code it checks.
func checkAgainst(t *testing.T, schemaText, text string) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal([]byte(schemaText), &root); err != nil {
		t.Fatalf("schema: %v", err)
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("not JSON: %v: %s", err, text)
	}
	if fault := fault(root, root, value, "$"); fault != "" {
		t.Fatalf("%s in %s", fault, text)
	}
}

// fault says what of the value the schema forbids, empty for nothing.
func fault(root, schema map[string]any, value any, path string) string {
	if ref, ok := schema["$ref"].(string); ok {
		target := root
		for _, step := range strings.Split(ref, "/")[1:] {
			target = target[step].(map[string]any)
		}
		return fault(root, target, value, path)
	}
	checks := []string{typeFault(schema, value), unionFault(root, schema, value, path)}
	switch v := value.(type) {
	case map[string]any:
		checks = append(checks, objectFault(root, schema, v, path))
	case []any:
		checks = append(checks, arrayFault(root, schema, v, path))
	case string:
		checks = append(checks, textFault(schema, v))
	case float64:
		checks = append(checks, numberFault(schema, v))
	}
	for _, found := range checks {
		if found != "" {
			return path + ": " + found
		}
	}
	return ""
}

func typeFault(schema map[string]any, value any) string {
	if constant, ok := schema["const"]; ok && !reflect.DeepEqual(constant, value) {
		return "not the constant"
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(enum, func(e any) bool { return reflect.DeepEqual(e, value) }) {
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
	if slices.Contains(types, any(actual)) || isNumber && slices.Contains(types, any("integer")) && number == math.Trunc(number) {
		return ""
	}
	return fmt.Sprintf("a %s is none of %v", actual, types)
}

func unionFault(root, schema map[string]any, value any, path string) string {
	for keyword, all := range map[string]bool{"anyOf": false, "oneOf": false, "allOf": true} {
		members, ok := schema[keyword].([]any)
		if !ok {
			continue
		}
		passed := 0
		for _, member := range members {
			if fault(root, member.(map[string]any), value, path) == "" {
				passed++
			}
		}
		if passed == 0 || all && passed < len(members) {
			return keyword + " is not met"
		}
	}
	return ""
}

func objectFault(root, schema, value map[string]any, path string) string {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := value[name.(string)]; !ok {
			return fmt.Sprintf("%v is missing", name)
		}
	}
	for name, v := range value {
		property, known := properties[name].(map[string]any)
		if !known {
			if schema["additionalProperties"] == false {
				return name + " is not allowed"
			}
			continue
		}
		if found := fault(root, property, v, path+"."+name); found != "" {
			return found
		}
	}
	return ""
}

func arrayFault(root, schema map[string]any, value []any, path string) string {
	if least, ok := schema["minItems"].(float64); ok && float64(len(value)) < least {
		return "too few items"
	}
	if most, ok := schema["maxItems"].(float64); ok && float64(len(value)) > most {
		return "too many items"
	}
	items, _ := schema["items"].(map[string]any)
	for i, v := range value {
		if found := fault(root, items, v, fmt.Sprintf("%s[%d]", path, i)); found != "" {
			return found
		}
	}
	return ""
}

func textFault(schema map[string]any, value string) string {
	length := float64(len([]rune(value)))
	if least, ok := schema["minLength"].(float64); ok && length < least {
		return "too short"
	}
	if most, ok := schema["maxLength"].(float64); ok && length > most {
		return "too long"
	}
	if pattern, ok := schema["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(value) {
		return "does not match " + pattern
	}
	return ""
}

func numberFault(schema map[string]any, value float64) string {
	bound := func(name string) float64 {
		if n, ok := schema[name].(float64); ok {
			return n
		}
		return math.NaN()
	}
	switch {
	case value < bound("minimum"), value > bound("maximum"), value <= bound("exclusiveMinimum"), value >= bound("exclusiveMaximum"):
		return fmt.Sprintf("%v is out of bounds", value)
	case math.Mod(value, bound("multipleOf")) != 0 && !math.IsNaN(bound("multipleOf")):
		return fmt.Sprintf("%v is not a multiple", value)
	default:
		return ""
	}
}
