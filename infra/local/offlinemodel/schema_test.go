package offlinemodel_test

import (
	"fmt"
	"strings"
	"testing"
)

func formatBody(name, schema string, strict bool) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema",`+
		`"json_schema":{"name":"%s","strict":%t,"schema":%s}}}`, name, strict, schema)
}

// TestStrictSchemas sends what the strict mode alone refuses.
func TestStrictSchemas(t *testing.T) {
	t.Parallel()
	_, server := newClient(t)
	const closed = `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}`
	for property, want := range map[string]string{
		`{"type":"string","default":"kg","title":"T"}`: "",
		closed: "",
		`{"type":"array","items":{"type":"object","properties":{},"required":[]}}`:          "to be false",
		`{"type":"object","properties":{"x":{"type":"null"}},"additionalProperties":false}`: "Missing 'x'",
		`{}`:               "must have a 'type' key",
		`{"type":"array"}`: "array schema missing items",
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`: "",
	} {
		schema := `{"type":"object","properties":{"a":` + property + `},"required":["a"],"additionalProperties":false}`
		status, answer := send(t, server, "/v1/chat/completions", formatBody("s", schema, true))
		if (status == 200) != (want == "") || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %d %s, want %q", property, status, answer, want)
		}
		if status, answer := send(t, server, "/v1/chat/completions", formatBody("s", schema, false)); status != 200 {
			t.Errorf("%s, not strict: %d %s", property, status, answer)
		}
	}
}

// TestKeywordsThatNoValueIsBuiltByAreRefused has a keyword in each place, and what is no schema. A tool may have any.
func TestKeywordsThatNoValueIsBuiltByAreRefused(t *testing.T) {
	t.Parallel()
	_, server := newClient(t)
	for property, reason := range map[string]string{
		`{"$ref":"#/$defs/d"}`:                                                           "'$ref'",
		`{"anyOf":[{"type":"string","minLength":3}]}`:                                    "'minLength'",
		`{"type":"array","items":{"type":"integer","minimum":1}}`:                        "'minimum'",
		`{"type":"object","properties":{"b":{"oneOf":[{"type":"null"}]}},"required":[]}`: "'oneOf'",
	} {
		schema := `{"type":"object","properties":{"a":` + property + `},"required":["a"]}`
		status, answer := send(t, server, "/v1/chat/completions", formatBody("s", schema, false))
		if status != 400 || !strings.Contains(string(answer), reason) {
			t.Errorf("%s: %d %s, want %q", schema, status, answer, reason)
		}
		tool := `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function",` +
			`"function":{"name":"f","parameters":` + schema + `}}],"tool_choice":"required"}`
		if status, answer := send(t, server, "/v1/chat/completions", tool); status != 200 {
			t.Errorf("a tool with %s: %d %s", schema, status, answer)
		}
	}
	if status, answer := send(t, server, "/v1/chat/completions", formatBody("s", `[]`, false)); status != 400 {
		t.Errorf("a list: %d %s", status, answer)
	}
}
