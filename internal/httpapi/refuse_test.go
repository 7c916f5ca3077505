package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/testing/check"
)

// hostileBodies are bodies of about a size that are wrong, by what makes them expensive.
func hostileBodies(size int) map[string]string {
	repeated := func(before, part, after string) string {
		return before + strings.Repeat(part, (size-len(before)-len(after))/len(part)) + after
	}
	names := func(before, value, after string) string {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; b.Len() < size-100; i++ {
			fmt.Fprintf(&b, `"%x":%s,`, i, value)
		}
		return b.String() + `"end":` + value + after
	}
	deep := func(before, open, end, after string, depth int) string {
		return before + strings.Repeat(open, depth) + `1` + strings.Repeat(end, depth) + after
	}
	const message = `{"messages":[{"role":"user","content":"x","metadata":{"x":`
	named := `{"` + strings.Repeat("n", 200) + `":`
	metadata := `{"role":"user","content":"x","metadata":` + strings.Repeat(named, 14) + "[" +
		strings.Repeat("[[]],", 5_000) + "1]" + strings.Repeat("}", 14) + "}"
	return map[string]string{
		"deep lists":          deep(message, "[", "]", "}}]}", size/2-50),
		"deep objects":        deep(message, `{"a":`, "}", "}}]}", size/6-50),
		"many deep lists":     repeated(message+"[", strings.Repeat("[", 20)+"1"+strings.Repeat("]", 20)+",", "1]}}]}"),
		"long name, deep":     deep(message+`{"`+strings.Repeat("n", size/2)+`":`, "[", "]", "}}}]}", size/5),
		"deep names":          deep(message, `{"`+strings.Repeat("n", 200)+`":`, "}", "}}]}", size/205),
		"many values":         repeated(message+"[", "1,", "1]}}]}"),
		"many names":          names(message+"{", "1", "}}}]}"),
		"many wrong numbers":  repeated(message+"[", "1e999,", "1]}}]}"),
		"contexts":            names(`{"contexts":{`, `{}`, "}}"),
		"contexts that share": names(`{"contexts":{`, `{"share":1}`, "}}"),
		"unknown fields":      names("{", "1", "}"),
		"messages":            repeated(`{"messages":[`, `{},`, `{}]}`),
		"ids":                 repeated(`{"type":"PROFILE","content":"x","messageIds":[`, `1,`, `"m"]}`),
		"texts":               repeated(`{"wins":[`, `0,`, `"m"]}`),
		"escapes":             repeated(`{"content":"`, `\u0001`, `\ud800"}`),
		"spaces":              repeated("{", " ", `"content":1}`),
		"repeated names":      repeated("{", `"content":"",`, `"content":1}`),
		"long number":         repeated(`{"content":`, "1", "}"),
		"many lists":          repeated(message+"[", "["+strings.Repeat("1,", 8000)+"1],", "1]}}]}"),
		"most messages":       `{"messages":[` + strings.Repeat(`{},`, 8000) + `{}]}`,
		"most metadata":       `{"messages":[` + strings.Repeat(metadata+",", 49) + metadata + `]}`,
		"filters":             names(`{"context":"workout_log","filter":{`, `1`, "}}"),
	}
}

// operationFor names the operation that reads most of a body before it refuses it.
func operationFor(body string) (method, path string) {
	for beginning, path := range map[string]string{
		`{"contexts"`: "/v1/preferences", `{"wins"`: "/v1/user-summary",
	} {
		if strings.HasPrefix(body, beginning) {
			return http.MethodPut, path
		}
	}
	for beginning, path := range map[string]string{
		`{"messages"`: "/v1/sessions/s1/messages", `{"context":`: "/v1/context/query",
	} {
		if strings.HasPrefix(body, beginning) {
			return http.MethodPost, path
		}
	}
	return http.MethodPost, "/v1/memories"
}

// TestTimeToRefuse sends each of the bodies. All are refused, with a short answer. No refusal takes many times as long
// as encoding/json takes to decode as many bytes of numbers; a reader whose time grows with the square of the body's
// size does.
func TestTimeToRefuse(t *testing.T) {
	t.Parallel()
	h := allFunctions(t, newMemory(t, noon).stores(&fakeEraser{needs: 2}))
	newSession(t, h, "s1")
	bodies := hostileBodies(1 << 20)
	began := time.Now()
	check.OK(t, json.Unmarshal([]byte(bodies["many values"]), new(any)))
	longest := 10 * time.Since(began)
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		body := bodies[name]
		method, path := operationFor(body)
		took := longest + 1
		for tries := 0; tries < 3 && took > longest; tries++ { // a busy machine may make one slow
			began := time.Now()
			r := send(t, h, as("ann", method, path, body))
			took = time.Since(began)
			if r.status < 400 || r.status >= 500 || len(r.body) > 100_000 {
				t.Errorf("%s %s: %s: %d with %d bytes", method, path, name, r.status, len(r.body))
			}
		}
		if took > longest {
			t.Errorf("%s %s: %s: refused after %s, at most %s", method, path, name, took, longest)
		}
	}
}
