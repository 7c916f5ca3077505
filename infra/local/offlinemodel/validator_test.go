package offlinemodel_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
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
	if found := violation(root, value, "$"); found != "" {
		t.Fatalf("%s in %s", found, text)
	}
}

// violation describes how the value breaks the schema. It is empty if the value is valid.
func violation(schema map[string]any, value any, path string) string {
	checks := []string{typeViolation(schema, value)}
	switch v := value.(type) {
	case map[string]any:
		checks = append(checks, objectViolation(schema, v, path))
	case []any:
		checks = append(checks, arrayViolation(schema, v, path))
	}
	for _, found := range checks {
		if found != "" {
			return path + ": " + found
		}
	}
	return ""
}

func typeViolation(schema map[string]any, value any) string {
	equal := func(e any) bool { return reflect.DeepEqual(e, value) }
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

func objectViolation(schema, value map[string]any, path string) string {
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
		if found := violation(property, v, path+"."+name); found != "" {
			return found
		}
	}
	return ""
}

func arrayViolation(schema map[string]any, value []any, path string) string {
	items, _ := schema["items"].(map[string]any)
	for i, v := range value {
		if found := violation(items, v, fmt.Sprintf("%s[%d]", path, i)); found != "" {
			return found
		}
	}
	return ""
}
