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
