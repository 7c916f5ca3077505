package offlinemodel_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchemasOfLibrariesAreFilled sends what zod 4.6 and 3.25, zod-to-json-schema 3.25, Pydantic 2.14 and the OpenAI
// libraries for Node (6.49) and Python (3.54) made of classes that have objects in arrays with bounds, references,
// unions, literals, defaults, formats and patterns. Those of the OpenAI libraries are strict.
func TestSchemasOfLibrariesAreFilled(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	files, err := filepath.Glob("testdata/schemas/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	for _, file := range files {
		if strings.Contains(file, "recursive") {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			format := readFormat(t, file)
			text := askInFormat(t, client, format.Name, string(format.Schema), format.Strict, "user: I ran 10 km.")
			if !strings.Contains(text, "ran 10 km") {
				t.Errorf("nothing of the message in %s", text)
			}
		})
	}
}

type namedSchema struct {
	Name   string
	Strict bool
	Schema json.RawMessage
}

func readFormat(t *testing.T, file string) (format namedSchema) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &format); err != nil {
		t.Fatal(err)
	}
	return format
}

// TestRecursiveSchemasAreRefused sends schemas of classes that contain themselves.
func TestRecursiveSchemasAreRefused(t *testing.T) {
	t.Parallel()
	_, server := newClient(t)
	for _, name := range []string{"pydantic-recursive", "openai-zod-recursive"} {
		format := readFormat(t, "testdata/schemas/"+name+".json")
		status, answer := send(t, server, "/v1/chat/completions", formatBody("s", string(format.Schema), format.Strict))
		if status != 400 || !strings.Contains(string(answer), "is recursive") {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}

func formatBody(name, schema string, strict bool) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema",`+
		`"json_schema":{"name":"%s","strict":%t,"schema":%s}}}`, name, strict, schema)
}

// TestKeywordsOfSchemas fills one property for each keyword.
func TestKeywordsOfSchemas(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	for _, property := range []string{
		`{}`, `true`, `{"title":"t","default":1,"examples":[],"deprecated":true,"$comment":"c"}`,
		`{"const":3}`, `{"const":null}`, `{"enum":[{"a":1}]}`,
		`{"$ref":"#/$defs/d"}`, `{"$ref":"#/definitions/a~1b"}`, `{"$ref":"#/properties/list/prefixItems/1"}`,
		`{"$ref":"#/$defs/d","description":"d"}`,
		`{"anyOf":[{"type":"null"},{"$ref":"#/$defs/d"}]}`, `{"anyOf":[{"type":"null"}]}`,
		`{"allOf":[{"$ref":"#/$defs/d"}]}`,
		`{"allOf":[{"type":"string"},{"maxLength":3}]}`, `{"anyOf":[{"minLength":1}],"type":"string"}`,
		`{"type":"array"}`, `{"not":{"type":"string"}}`,
		`{"oneOf":[{"type":"integer"},{"type":"string"}]}`, `{"oneOf":[{"const":1},{"const":2}]}`,
		`{"type":"integer","minimum":5}`, `{"type":"integer","exclusiveMinimum":5}`, `{"type":"integer","maximum":-5}`,
		`{"type":"number","exclusiveMinimum":0.25,"exclusiveMaximum":0.5}`, `{"minimum":2.5}`,
		`{"type":"integer","minimum":3,"multipleOf":5}`, `{"type":"integer","exclusiveMaximum":-3,"multipleOf":5}`,
		`{"type":"string","minLength":400}`, `{"type":"string","maxLength":3}`, `{"maxLength":0}`,
		`{"type":"string","pattern":"^[a-c]x?(\\d{2,}|y)+\\.[^a-z]$"}`, `{"type":"string","pattern":"^(?:A|B)$"}`,
		`{"type":"string","format":"ipv6"}`,
		`{"type":"string","format":"email","pattern":"^(?!\\.)(?!.*\\.\\.)[a-z]+@[a-z.]+$"}`,
		`{"type":"array","items":{"type":"string"},"minItems":3}`, `{"type":"array","items":true,"minItems":1}`,
		`{"type":"array","items":{"type":"string"},"maxItems":0}`, `{"items":{"type":"null"}}`,
		`{"type":"array","items":[{"type":"string"},{"type":"null"}]}`,
		`{"type":"array","prefixItems":[{"type":"boolean"}],"items":false,"minItems":1}`,
		`{"type":"array","uniqueItems":true,"items":{"type":"string"}}`,
		`{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"type":"string"}}`,
		`{"properties":{"b":{"type":"string"}},"required":["b"]}`,
	} {
		t.Run(property, func(t *testing.T) {
			t.Parallel()
			schema := `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
				`"$defs":{"d":{"type":"string"}},"definitions":{"a/b":{"type":"array","items":{"$ref":"#/$defs/d"}}},` +
				`"properties":{"a":` + property +
				`,"list":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]}},"required":["a"]}`
			askInFormat(t, client, "anything", schema, false, "user: I ran 10 km.")
		})
	}
}

func TestSchemasThatCannotBeFilledAreRefused(t *testing.T) {
	t.Parallel()
	_, server := newClient(t)
	for property, reason := range map[string]string{
		`{"$ref":"#"}`:                                                             "recursive",
		`{"$ref":"#/$defs/d"}`:                                                     "refers to nothing",
		`{"$ref":"https://example.com/d"}`:                                         "another document",
		`{"anyOf":[{"$ref":"#/properties/a"}]}`:                                    "recursive",
		`{"not":{"$ref":"#/properties/a"},"type":"null"}`:                          "a reference in a keyword",
		`{"additionalItems":{"$dynamicRef":"#"}}`:                                  "a reference in a keyword",
		`{"$ref":"#/properties/b","minLength":3}`:                                  "minLength",
		`{"oneOf":[{"type":"number"},{"type":"integer"}]}`:                         "oneOf: validated against both",
		`{"type":"string","pattern":"^(?=a)b"}`:                                    "pattern",
		`{"type":"string","pattern":"^a$","minLength":2}`:                          "minLength",
		`{"type":"string","format":"iban"}`:                                        "no example",
		`{"type":"integer","minimum":1.2,"maximum":1.8}`:                           "minimum",
		`{"type":"array","items":{"type":"string"},"minItems":20000}`:              "parts",
		`{"type":"string","minLength":20000}`:                                      "parts",
		`{"type":"array","items":{},"minItems":2,"maxItems":1}`:                    "minItems",
		`{"type":"array","items":{"type":"null"},"minItems":2,"uniqueItems":true}`: "minItems",
		`{"type":"object","required":["b"]}`:                                       "required",
		`{"type":"text"}`:                                                          `want \"text\"`,
		`null`:                                                                     "null",
		`false`:                                                                    "/properties/a",
	} {
		schema := `{"type":"object","properties":{"a":` + property + `,"b":{"type":"string"}},"required":["a"]}`
		for _, body := range []string{
			formatBody("s", schema, false),
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function",` +
				`"function":{"name":"f","parameters":` + schema + `}}]}`,
		} {
			status, answer := send(t, server, "/v1/chat/completions", body)
			if status != 400 || !strings.Contains(string(answer), "the offline model cannot fill it") ||
				!strings.Contains(string(answer), reason) {
				t.Errorf("%s: %d %s, want %q", body, status, answer, reason)
			}
		}
	}
}

// TestReferencesThatMultiply sends a schema whose references, put in each other's place, would fill the memory.
func TestReferencesThatMultiply(t *testing.T) {
	t.Parallel()
	_, server := newClient(t)
	defs := `"d0":{"type":"string"}`
	for i := 1; i <= 30; i++ {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i-1)
		defs += fmt.Sprintf(`,"d%d":{"type":"object","properties":{"a":%s,"b":%s}}`, i, ref, ref)
	}
	schema := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d30"}},"$defs":{` + defs + `}}`
	status, answer := send(t, server, "/v1/chat/completions", formatBody("s", schema, false))
	if status != 400 || !strings.Contains(string(answer), "more than 10000 schemas") {
		t.Errorf("%d %s", status, answer)
	}
}

// TestStrictSchemas sends what the strict mode alone refuses. A default is allowed.
func TestStrictSchemas(t *testing.T) {
	t.Parallel()
	_, server := newClient(t)
	const closed = `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}`
	for property, want := range map[string]string{
		`{"type":"string","default":"kg","title":"T"}`: "",
		closed:                               ``,
		`{"$ref":"#/$defs/d"}`:               "",
		`{"$ref":"#/$defs/d","default":"x"}`: "$ref cannot have keywords {'default'}.",
		`{"type":"array","items":{"type":"object","properties":{},"required":[]}}`:          "to be false",
		`{"type":"object","properties":{"x":{"type":"null"}},"additionalProperties":false}`: "Missing 'x'",
		`{"oneOf":[{"type":"string"}]}`:                                     "'oneOf' is not permitted",
		`{"allOf":[{"type":"string"}]}`:                                     "'allOf' is not permitted",
		`{"type":"array","prefixItems":[{"type":"string"}]}`:                "'prefixItems' is not permitted",
		`{"type":"array","items":[{"type":"string"}]}`:                      "'prefixItems' is not permitted",
		`{"type":"array","items":{"type":"string"},"uniqueItems":true}`:     "'uniqueItems' is not permitted",
		`{"type":"object","additionalProperties":false,"propertyNames":{}}`: "'propertyNames' is not permitted",
		`{"type":"string","format":"uri"}`:                                  "'uri' is not a valid format",
		`{}`:                                                                "must have a 'type' key",
		`{"type":"array"}`:                                                  "array schema missing items",
		`{"type":"integer","not":{"const":1}}`:                              "'not' is not permitted",
		`{"type":"integer","if":{"const":1}}`:                               "'if' is not permitted",
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`:                     "",
	} {
		schema := `{"type":"object","properties":{"a":` + property + `},"required":["a"],"additionalProperties":false,` +
			`"$defs":{"d":{"type":"string"}}}`
		status, answer := send(t, server, "/v1/chat/completions", formatBody("s", schema, true))
		if (status == 200) != (want == "") || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %d %s, want %q", property, status, answer, want)
		}
		if status, answer := send(t, server, "/v1/chat/completions", formatBody("s", schema, false)); status != 200 {
			t.Errorf("%s, not strict: %d %s", property, status, answer)
		}
	}
	referred := `{"$ref":"#/$defs/d","$defs":{"d":` + closed + `}}`
	if status, answer := send(t, server, "/v1/chat/completions", formatBody("s", referred, true)); status != 400 {
		t.Errorf("a reference as the root of a strict schema: %d %s", status, answer)
	}
}
