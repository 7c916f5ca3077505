package httpapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
)

// body returns the schema of an operation's request body.
func (d document) body(t *testing.T, method, path string) schema {
	t.Helper()
	op := d.Paths[path][strings.ToLower(method)]
	if op.RequestBody == nil {
		t.Fatalf("%s %s takes no body", method, path)
	}
	return d.resolve(op.RequestBody.Content["application/json"].Schema)
}

func (d document) resolve(s schema) schema {
	if s.Ref == "" {
		return s
	}
	return d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
}

func TestOptionalFieldsMayBeNull(t *testing.T) {
	t.Parallel()
	store := newMemory(t, noon)
	h := allFunctions(t, store.stores(&fakeEraser{}))
	newSession(t, h, "s1")
	todo := expect(t, h, 201,
		as("ann", "POST", "/v1/todos", object{"content": "x", "coachId": "c"})).header.Get("Location")
	d := serveDocument(t, h)
	for _, test := range []struct {
		method, path, documented string
		required                 object
	}{
		{"POST", "/v1/sessions", "", object{"context": "workout_log", "coachId": "c"}},
		{"PATCH", "/v1/sessions/s1", "/v1/sessions/{id}", object{}},
		{"PUT", "/v1/profile", "", object{}},
		{"PUT", "/v1/user-summary", "", object{}},
		{"PUT", "/v1/preferences", "", object{}},
		{"PUT", "/v1/coaches/c1", "/v1/coaches/{coachId}", object{"name": "n", "persona": "p"}},
		{"POST", "/v1/goals", "", object{"title": "t", "goalType": "habit"}},
		{"POST", "/v1/check-ins", "", object{}},
		{"POST", "/v1/memories", "", object{"type": "PEOPLE", "content": "x"}},
		{"POST", "/v1/todos", "", object{"content": "x", "coachId": "c"}},
		{"PATCH", todo, "/v1/todos/{id}", object{}},
		{"POST", "/v1/context/query", "", object{"context": "workout_log"}},
		{"POST", "/v1/recall", "", object{"query": "x"}},
		{"POST", "/v1/prompts", "", object{"context": "workout_log", "sessionId": "s1", "message": "x"}},
		{"POST", "/v1/chat", "", object{"sessionId": "s1", "message": "x"}},
	} {
		path := test.documented
		if path == "" {
			path = test.path
		}
		body := maps.Clone(test.required)
		for name, field := range d.body(t, test.method, path).Properties {
			if _, required := body[name]; required {
				continue
			}
			body[name] = nil
			if !slices.Contains(field.Type, "null") || len(field.Enum) > 0 && !slices.Contains(field.Enum, nil) {
				t.Errorf("%s %s: the document does not allow null for %s: %+v", test.method, path, name, field)
			}
		}
		r := send(t, h, as("ann", test.method, test.path, body))
		if r.status >= 300 {
			t.Errorf("%s %s %v: %d %s", test.method, test.path, body, r.status, r.body)
		}
	}
	if answer := d.Components.Schemas["ProfileDoc"].Properties["name"]; slices.Contains(answer.Type, "null") {
		t.Error("the document says that a response may have null for an absent field")
	}
}

func TestWholeNumbersMayHaveAFractionOfZero(t *testing.T) {
	t.Parallel()
	h, recaller := newContext()
	expect(t, h, 200, as("ann", "POST", "/v1/recall", `{"query":"3.0","limit":1e1,"tokens":20.00}`))
	if got := recaller.messages; *got.Limit != 10 || *got.Tokens != 20 || got.Query != "3.0" {
		t.Errorf("limit %d, tokens %d, query %q", *got.Limit, *got.Tokens, got.Query)
	}
	h, prompts := newPrompts(t)
	expect(t, h, 200,
		as("ann", "POST", "/v1/prompts",
			`{"context":"workout_log","sessionId":"s1","message":"x","budget":{"tokens":2.56e2}}`))
	check.Equal(t, 256, prompts.got.Budget.Tokens, "budget")
}

func TestEmptyParametersAreRefused(t *testing.T) {
	t.Parallel()
	store := newMemory(t, noon)
	h := allFunctions(t, store.stores(&fakeEraser{}))
	newSession(t, h, "s1")
	for path, operations := range serveDocument(t, h).Paths {
		for _, parameter := range operations["get"].Parameters {
			if parameter.In != "query" {
				continue
			}
			of := strings.NewReplacer("{id}", "s1", "{sessionId}", "s1").Replace(path)
			c := as("ann", "GET", of+"?"+parameter.Name+"=")
			if parameter.Name == "cursor" {
				expect(t, h, 200, c)
				continue
			}
			expectProblem(t, h, 422, "invalid", parameter.Name, c)
		}
	}
}

func TestDocumentListsRecipesAndAgents(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	d := serveDocument(t, h)
	recipes, agents := []any{}, []any{}
	for _, r := range prompt.Recipes {
		recipes = append(recipes, r.Name)
	}
	for _, a := range registry.Live().Agents {
		agents = append(agents, a.ID)
	}
	for _, path := range []string{"/v1/prompts", "/v1/chat"} {
		fields := d.body(t, "POST", path).Properties
		if got := fields["recipe"].Enum; !slices.Equal(got, append(recipes, nil)) {
			t.Errorf("%s: recipes %v, want %v", path, got, recipes)
		}
		if got := fields["agentId"].Enum; !slices.Equal(got, append(agents, nil)) {
			t.Errorf("%s: agents %v, want %v", path, got, agents)
		}
	}
	coach, _ := newCoach(t, &fakeChat{})
	w := httptest.NewRecorder()
	const unknown = `{"sessionId":"s","message":"x","recipe":"r","agentId":"a"}`
	coach.ServeHTTP(w, chatRequest(t, "http://x", "user:ann", unknown))
	if body := w.Body.String(); w.Code != http.StatusUnprocessableEntity || !strings.Contains(body, `"field":"agentId"`) ||
		!strings.Contains(body, `"field":"recipe"`) {
		t.Errorf("unknown recipe and agent: %d %s", w.Code, body)
	}
}

// TestValuesThatCannotBeStoredAreInTheDocument checks that the limits of the store are limits of the schemas too.
func TestValuesThatCannotBeStoredAreInTheDocument(t *testing.T) {
	t.Parallel()
	store := newMemory(t, noon)
	h := allFunctions(t, store.stores(&fakeEraser{}))
	for _, test := range []struct {
		path, field, body string
		limit             string
	}{
		{"/v1/memories", "confidence", `{"type":"PEOPLE","content":"x","confidence":1e-300}`, `"exclusiveMaximum":1e-125`},
		{"/v1/recall", "query", `{"query":" \n"}`, `"pattern":"\\S"`},
		{"/v1/sessions", "attributes", `{"context":"workout_log","coachId":"c","attributes":{"":1}}`, `"minLength":1`},
		{"/v1/todos", "completedAt", `{"content":"x","coachId":"c","completedAt":"2026-01-01T00:00:00Z"}`, `"if":{`},
	} {
		expectProblem(t, h, 422, "invalid", test.field, as("ann", "POST", test.path, test.body))
		var d struct {
			Components struct{ Schemas map[string]json.RawMessage }
		}
		expect(t, h, 200, as("", "GET", "/openapi.json")).decode(t, &d)
		found := false
		for _, name := range []string{"NewMemory", "RecallBody", "NewSession", "NewTodo"} {
			found = found || strings.Contains(string(d.Components.Schemas[name]), test.limit)
		}
		if !found {
			t.Errorf("%s: the document does not have the limit %s of %s", test.path, test.limit, test.field)
		}
	}
}

// TestChatEventsAreInTheDocument checks one event of each kind against the schema of the stream.
func TestChatEventsAreInTheDocument(t *testing.T) {
	t.Parallel()
	messages, _, _ := newMessages(t)
	d := serveDocument(t, messages)
	schemas := map[string]*schema{}
	for _, s := range d.Paths["/v1/chat"]["post"].Responses["200"].Content["text/event-stream"].Schema.OneOf {
		schemas[s.Properties["event"].Enum[0].(string)] = s.Properties["data"].ContentSchema
	}
	seen := 0
	for _, last := range []chat.Event{
		event("done", chat.Done{MessageID: "m", Usage: llm.Usage{PromptTokens: 1}, FinishReason: "stop"}),
		event("error", fault.New(fault.Unavailable, "")),
	} {
		events := say(
			event("prompt", chat.Built{PromptID: "p", UserMessageID: "u"}), event("token", chat.Token{Text: "x"}), last,
		)
		h, _ := newCoach(t, &fakeChat{events: events})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, chatRequest(t, "http://x", "user:ann", hello))
		for frame := range strings.SplitSeq(strings.TrimSpace(w.Body.String()), "\n\n") {
			name, data, _ := strings.Cut(strings.TrimPrefix(frame, "event: "), "\ndata: ")
			if schemas[name] == nil {
				t.Fatalf("the document has no event %q", name)
			}
			var value any
			reply{body: []byte(data)}.decode(t, &value)
			for _, wrong := range d.check(*schemas[name], name, value) {
				t.Error(wrong)
			}
			seen++
		}
	}
	if seen != 6 || len(schemas) != 4 {
		t.Errorf("%d events seen, %d documented", seen, len(schemas))
	}
}

func TestParametersAreInTheDocument(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	d := serveDocument(t, h)
	keys := 0
	for path, operations := range d.Paths {
		for _, p := range operations["post"].Parameters {
			if p.Name != "Idempotency-Key" {
				continue
			}
			keys++
			if p.Schema.MinLength == nil || *p.Schema.MinLength != 1 || p.Schema.MaxLength == nil || *p.Schema.MaxLength != 128 {
				t.Errorf("POST %s: the key's schema is %+v", path, p.Schema)
			}
		}
	}
	if keys != 9 {
		t.Errorf("%d operations take an Idempotency-Key", keys)
	}
	if p := d.Paths["/v1/coaches/{coachId}"]["put"].Parameters; len(p) != 1 || p[0].Schema.Pattern == "" {
		t.Errorf("parameters of PUT /v1/coaches/{coachId}: %+v", p)
	}
	put := call{method: "PUT", user: "ann", body: object{"name": "n", "persona": ""}}
	for _, bad := range []string{"a b", "..x y", "ä"} {
		put.path = "/v1/coaches/" + url.PathEscape(bad)
		expectProblem(t, h, 422, "invalid", "coachId", put)
	}
}
