package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// newDocuments returns the API of documents on a store.
func newDocuments(t *testing.T, store httpapi.DocumentStore) http.Handler {
	t.Helper()
	b, _ := base()
	messages := httpapi.Messages(httpapi.MessagesDeps{Base: b, Documents: store, Cursors: cursorKey(t, "1")})
	context := httpapi.Context(httpapi.ContextDeps{Base: b, Documents: store, Cursors: cursorKey(t, "1")})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/documents" {
			context.ServeHTTP(w, r)
		} else {
			messages.ServeHTTP(w, r)
		}
	})
}

func documentAt(namespace, key string) string {
	return "/v1/documents/" + url.PathEscape(namespace) + "/" + url.PathEscape(key)
}

// TestDocumentValuesAreExact puts values whose text JSON readers change, and reads the same text again.
func TestDocumentValuesAreExact(t *testing.T) {
	t.Parallel()
	h := newDocuments(t, dynamotest.New(t, dynamo.WithClock(noon)).Documents)
	for i, value := range []string{
		`{}`, `{"b":1,"a":2}`, `{"n":1.50,"e":1E2,"z":-0.0,"t":3.0}`, `{"text":"<a&b> \u00e9 é \u0000 \ud83d\ude00"}`,
		`{"":{"":[[],{},null,true]}}`, `{"__proto__":{"$gt":1},"constructor":null}`,
	} {
		path := documentAt("exact", fmt.Sprint(i))
		expect(t, h, 201, as("ann", "PUT", path, `{ "value" : `+value+` }`))
		var got struct{ Value json.RawMessage }
		expect(t, h, 200, as("ann", "GET", path)).decode(t, &got)
		if string(got.Value) != value {
			t.Errorf("%s comes back as %s", value, got.Value)
		}
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	h := newDocuments(t, newMemory(t, noon).documents)
	put := func(status int, namespace, key string, body object) object {
		t.Helper()
		return answer(t, h, status, as("ann", "PUT", documentAt(namespace, key), body))
	}
	first := put(201, "users/ann", "a b#%?😀", object{"value": object{"n": 1}, "index": []string{}, "ttlSeconds": 60})
	if first["namespace"] != "users/ann" || first["key"] != "a b#%?😀" || first["expiresAt"] == nil ||
		first["createdAt"] != first["updatedAt"] || len(first["index"].([]any)) != 0 {
		t.Errorf("put: %v", first)
	}
	if again := put(200, "users/ann", "a b#%?😀", object{"value": object{"n": 2}}); again["expiresAt"] != nil ||
		again["index"] != nil {
		t.Errorf("put again: %v", again)
	}
	for i := range 5 {
		put(201, "users/ann/notes", fmt.Sprint(i), object{"value": object{"n": i, "kind": "note"}, "index": []string{"kind"}})
	}
	get := func(path string) (items []any, next string) {
		t.Helper()
		out := answer(t, h, 200, as("ann", "GET", path))
		next, _ = out["nextCursor"].(string)
		return out["items"].([]any), next
	}
	for query, want := range map[string]int{
		"?namespace=user": 0, "?namespace=users/ann&limit=200&filter=" + url.QueryEscape(`{"n":{"$gte":3},"kind":"note"}`): 2,
	} {
		if items, _ := get("/v1/documents" + query); len(items) != want {
			t.Errorf("%s: %d documents, want %d", query, len(items), want)
		}
	}
	all, cursor := get("/v1/documents?limit=4")
	rest, end := get("/v1/documents?limit=4&cursor=" + url.QueryEscape(cursor))
	if len(all) != 4 || len(rest) != 2 || end != "" {
		t.Errorf("pages of %d and %d, then %q", len(all), len(rest), end)
	}
	expectProblem(t, h, 422, "invalid", "cursor",
		as("ann", "GET", "/v1/documents?namespace=x&cursor="+url.QueryEscape(cursor)))
	if items, _ := get("/v1/document-namespaces?prefix=users/*&maxDepth=2"); len(items) != 1 {
		t.Errorf("namespaces: %v", items)
	}
	if items, _ := get("/v1/document-namespaces?suffix=notes"); len(items) != 1 || len(items[0].([]any)) != 3 {
		t.Errorf("namespaces: %v", items)
	}
	expect(t, h, 404, as("bob", "GET", documentAt("users/ann", "a b#%?😀")))
	expect(t, h, 204, as("ann", "DELETE", documentAt("users/ann", "a b#%?😀")))
	expect(t, h, 404, as("ann", "DELETE", documentAt("users/ann", "a b#%?😀")))
}

func TestInvalidDocuments(t *testing.T) {
	t.Parallel()
	h := newDocuments(t, newMemory(t, noon).documents)
	labels := func(n int) string { return strings.Join(slices.Repeat([]string{"a"}, n), "/") }
	value := object{"value": object{}}
	for name, tc := range map[string]struct {
		namespace, key string
		body           any
		field          string
	}{
		"nine labels":   {labels(9), "k", value, "namespace"},
		"long label":    {strings.Repeat("a", 65), "k", value, "namespace"},
		"empty label":   {"a//b", "k", value, "namespace"},
		"long key":      {"a", strings.Repeat("k", 513), value, "key"},
		"control":       {"a", "k\n", value, "key"},
		"no value":      {"a", "k", object{}, "value"},
		"list":          {"a", "k", object{"value": []any{}}, "value"},
		"null":          {"a", "k", object{"value": nil}, "value"},
		"path":          {"a", "k", object{"value": object{}, "index": []string{"a..b"}}, "index[0]"},
		"no time":       {"a", "k", object{"value": object{}, "ttlSeconds": 0}, "ttlSeconds"},
		"unknown field": {"a", "k", object{"value": object{}, "values": object{}}, "values"},
		"repeated name": {"a", "k", `{"value":{"a":1,"a":2}}`, "value.a"},
		"not exact":     {"a", "k", `{"value":{"a":12345678901234567890}}`, "value.a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := as("ann", "PUT", documentAt(tc.namespace, tc.key), tc.body)
			expectProblem(t, h, 422, "invalid", tc.field, c)
		})
	}
	for query, field := range map[string]string{
		"documents?filter=3": "filter", "documents?filter=" + url.QueryEscape(`{"a":{"$in":[]}}`): "filter.a",
		"documents?namespace=a//b": "namespace", "documents?x=1": "x", "document-namespaces?prefix=/": "prefix",
		"document-namespaces?suffix=a//b": "suffix", "document-namespaces?maxDepth=0": "maxDepth",
		"document-namespaces?maxDepth=9": "maxDepth",
	} {
		expectProblem(t, h, 422, "invalid", field, as("ann", "GET", "/v1/"+query))
	}
	large := `{"value":{"text":"` + strings.Repeat("x", 256<<10) + `"}}`
	expectProblem(t, h, 413, "too_large", "", as("ann", "PUT", documentAt("a", "k"), large))
	for _, method := range []string{"GET", "DELETE"} {
		expect(t, h, 404, as("ann", method, documentAt(labels(9), "k")))
		expect(t, h, 404, as("ann", method, documentAt("a", "k\n")))
	}
}

// TestSearchOfDocuments checks what a list with a query and a search of all kinds answer.
func TestSearchOfDocuments(t *testing.T) {
	t.Parallel()
	b, _ := base()
	h := httpapi.Context(httpapi.ContextDeps{Base: b, Recaller: &fakeRecaller{}, Cursors: cursorKey(t, "1")})
	out := answer(t, h, 200, as("ann", "GET", "/v1/documents?query=walk"))
	item := out["items"].([]any)[0].(object)
	if item["score"] != number("0.5") || item["key"] != "k" || len(out["degraded"].([]any)) != 1 {
		t.Errorf("found %v", out)
	}
	expectProblem(t, h, 422, "invalid", "cursor", as("ann", "GET", "/v1/documents?query=walk&cursor=rubbish"))
	out = answer(t, h, 200,
		as("ann", "POST", "/v1/search", object{"query": "walk", "kinds": []string{"document"}}))
	items := out["items"].([]any)
	last := items[len(items)-1].(object)
	if last["kind"] != "document" || last["namespace"] != "a" || last["score"] == nil || last["value"] == nil {
		t.Errorf("found %v", last)
	}
}
