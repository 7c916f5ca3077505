package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/httpapi"
)

// document is the served OpenAPI document, as far as the tests read it.
type document struct {
	OpenAPI string
	Info    struct{ Title, Version, Description string }
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Tags        []string
		Security    []map[string][]string
		Parameters  []struct{ Name, In string }
		RequestBody *struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema schema }
		}
	}
	Components struct {
		Schemas         map[string]schema
		SecuritySchemes map[string]any
	}
}

// schema is a JSON schema, as far as the document uses it.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 types
	Format, Pattern      string
	Enum                 []any
	Required             []string
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties *additional
	Minimum, Maximum     *float64
}

// types is one type, or a list of them.
type types []string

func (t *types) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// additional says whether further properties may be there, and of what schema.
type additional struct {
	allowed bool
	schema  *schema
}

func (a *additional) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &a.allowed) == nil {
		return nil
	}
	a.allowed = true
	return json.Unmarshal(raw, &a.schema)
}

// check reports where a value breaks its schema.
func (d document) check(s schema, at string, v any) []string {
	for s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, "#/components/schemas/")
		target, ok := d.Components.Schemas[name]
		if !ok {
			return []string{at + ": the document has no schema " + s.Ref}
		}
		s = target
	}
	if len(s.Type) == 0 {
		return nil // A schema without a type takes anything.
	}
	if !slices.Contains(s.Type, typeName(v)) && !(typeName(v) == "integer" && slices.Contains(s.Type, "number")) {
		return []string{fmt.Sprintf("%s: %s, want %v", at, typeName(v), s.Type)}
	}
	if len(s.Enum) > 0 && v != nil && !slices.Contains(s.Enum, v) {
		return []string{fmt.Sprintf("%s: %v is none of %v", at, v, s.Enum)}
	}
	switch v := v.(type) {
	case string:
		return s.checkText(at, v)
	case []any:
		var wrong []string
		for i, item := range v {
			wrong = append(wrong, d.check(*s.Items, fmt.Sprintf("%s[%d]", at, i), item)...)
		}
		return wrong
	case map[string]any:
		return d.checkObject(s, at, v)
	}
	return nil
}

var milliseconds = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

func (s schema) checkText(at, v string) []string {
	if s.Format == "date-time" && !milliseconds.MatchString(v) {
		return []string{at + ": " + v + " is not a time in UTC with milliseconds"}
	}
	if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v) {
		return []string{at + ": " + v + " does not match " + s.Pattern}
	}
	return nil
}

func (d document) checkObject(s schema, at string, v map[string]any) []string {
	var wrong []string
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			wrong = append(wrong, at+"."+name+": is missing")
		}
	}
	for name, value := range v {
		property, ok := s.Properties[name]
		switch {
		case ok:
			wrong = append(wrong, d.check(property, at+"."+name, value)...)
		case s.AdditionalProperties == nil || !s.AdditionalProperties.allowed:
			wrong = append(wrong, at+"."+name+": is not in the document")
		case s.AdditionalProperties.schema != nil:
			wrong = append(wrong, d.check(*s.AdditionalProperties.schema, at+"."+name, value)...)
		}
	}
	return wrong
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "integer"
		}
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func serveDocument(t testing.TB, h http.Handler) document {
	t.Helper()
	r := expect(t, h, 200, call{method: "GET", path: "/openapi.json"})
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	var d document
	if err := json.Unmarshal(r.body, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// promised are the operations of the interface, and the scope that each needs.
var promised = map[string]string{
	"POST /v1/sessions": "user", "GET /v1/sessions": "user", "GET /v1/sessions/{id}": "user", "PATCH /v1/sessions/{id}": "user",
	"DELETE /v1/sessions/{id}": "user", "POST /v1/sessions/{id}/messages": "user", "GET /v1/sessions/{id}/messages": "user",
	"DELETE /v1/sessions/{id}/messages/{messageId}": "user", "POST /v1/sessions/{id}/leave": "user", "GET /v1/messages": "user",
	"GET /v1/profile": "user", "PUT /v1/profile": "user", "GET /v1/seed": "user", "PUT /v1/seed": "user",
	"GET /v1/user-summary": "user", "PUT /v1/user-summary": "user", "GET /v1/preferences": "user", "PUT /v1/preferences": "user",
	"GET /v1/coaches": "user", "GET /v1/coaches/{coachId}": "user", "PUT /v1/coaches/{coachId}": "app", "DELETE /v1/coaches/{coachId}": "app",
	"GET /v1/goals": "user", "POST /v1/goals": "user", "GET /v1/goals/{id}": "user", "PATCH /v1/goals/{id}": "user", "DELETE /v1/goals/{id}": "user",
	"GET /v1/check-ins": "user", "POST /v1/check-ins": "user",
	"GET /v1/memories": "user", "POST /v1/memories": "user", "GET /v1/memories/{id}": "user", "PATCH /v1/memories/{id}": "user", "DELETE /v1/memories/{id}": "user",
	"GET /v1/todos": "user", "POST /v1/todos": "user", "GET /v1/todos/{id}": "user", "PATCH /v1/todos/{id}": "user", "DELETE /v1/todos/{id}": "user",
	"GET /v1/export": "user", "DELETE /v1/user": "user",
	"POST /v1/context/query": "user", "POST /v1/recall": "user",
	"POST /v1/prompts": "app", "GET /v1/prompts": "app", "GET /v1/prompts/{promptId}": "app", "POST /v1/chat": "user",
}

func TestDocumentHasEveryOperation(t *testing.T) {
	h, _, _ := newMessages(t)
	d := serveDocument(t, h)
	if d.OpenAPI != "3.1.0" || d.Info.Title == "" || d.Info.Version == "" || d.Components.SecuritySchemes["bearer"] == nil {
		t.Errorf("document %s %+v, security schemes %v", d.OpenAPI, d.Info, d.Components.SecuritySchemes)
	}
	documented := map[string]string{}
	ids := map[string]bool{}
	for path, operations := range d.Paths {
		for method, op := range operations {
			documented[strings.ToUpper(method)+" "+path] = strings.TrimPrefix(op.Security[0]["bearer"][0], "throughline/")
			if op.OperationID == "" || ids[op.OperationID] || op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s %s: id %q, summary %q, tags %q", method, path, op.OperationID, op.Summary, op.Tags)
			}
			ids[op.OperationID] = true
			for _, status := range []string{"401", "403", "422", "429", "500", "503"} {
				if _, ok := op.Responses[status].Content["application/problem+json"]; !ok {
					t.Errorf("%s %s: no problem for %s", method, path, status)
				}
			}
		}
	}
	for op, scope := range promised {
		if got, ok := documented[op]; !ok || got != scope {
			t.Errorf("%s: scope %q in the document, want %q", op, got, scope)
		}
	}
	for op := range documented {
		if _, ok := promised[op]; !ok {
			t.Errorf("%s: not promised", op)
		}
	}
	text := string(expect(t, h, 200, call{method: "GET", path: "/openapi.json"}).body)
	for name, s := range d.Components.Schemas {
		if !strings.Contains(text, `"#/components/schemas/`+name+`"`) {
			t.Errorf("schema %s is of no operation", name)
		}
		if len(s.Type) == 0 {
			t.Errorf("schema %s has no type", name)
		}
	}
}

func TestDocsPage(t *testing.T) {
	h, _, _ := newMessages(t)
	r := expect(t, h, 200, call{method: "GET", path: "/docs"})
	page := string(r.body)
	if got := r.header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	for _, foreign := range []string{"<script", "<link", "<img", "@import", "url(", "http://", "https://"} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page is not whole in itself: it has %s", foreign)
		}
	}
	if policy := r.header.Get("Content-Security-Policy"); !strings.Contains(policy, "style-src 'sha256-") {
		t.Errorf("policy %q keeps the page's style out", policy)
	}
	for path, operations := range serveDocument(t, h).Paths {
		for _, op := range operations {
			if !strings.Contains(page, `id="`+op.OperationID+`"`) || !strings.Contains(page, "<code>"+path+"</code>") {
				t.Errorf("the page lacks %s %s", op.OperationID, path)
			}
		}
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("the page has a value that the template refused")
	}
}

// contract validates every answer that passes it against the served document, and notes what was exercised.
type contract struct {
	document
	// done are the answers seen: "GET /v1/goals 200".
	done map[string]bool
}

// operation finds the documented path of a request: one with as many segments, of which the fixed ones are equal.
func (c *contract) operation(path string) string {
	path, _, _ = strings.Cut(path, "?")
	best := ""
	for candidate := range c.Paths {
		if matches(candidate, path) && (best == "" || strings.Count(candidate, "{") < strings.Count(best, "{")) {
			best = candidate
		}
	}
	return best
}

func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !strings.HasPrefix(want[i], "{") && want[i] != got[i] {
			return false
		}
	}
	return true
}

// expect sends a call and holds the answer against the document.
func (c *contract) expect(t *testing.T, h http.Handler, status int, request call) reply {
	t.Helper()
	r := expect(t, h, status, request)
	path := c.operation(request.path)
	op := c.Paths[path][strings.ToLower(request.method)]
	response, ok := op.Responses[fmt.Sprint(status)]
	if !ok {
		t.Errorf("%s %s: the document has no answer %d", request.method, path, status)
		return r
	}
	c.done[fmt.Sprintf("%s %s %d", request.method, path, status)] = true
	media, documented := response.Content[r.header.Get("Content-Type")]
	if !documented {
		if len(response.Content) > 0 || len(r.body) > 0 {
			t.Errorf("%s %s: %d answers %q with %d bytes, the document says %v", request.method, path, status, r.header.Get("Content-Type"), len(r.body), slices.Collect(maps.Keys(response.Content)))
		}
		return r
	}
	if strings.HasSuffix(r.header.Get("Content-Type"), "json") && r.header.Get("Content-Type") != "application/x-ndjson" {
		var body any
		r.decode(t, &body)
		for _, wrong := range c.check(media.Schema, request.method+" "+path, body) {
			t.Error(wrong)
		}
	}
	return r
}

// whole is every function's handler behind one, as the local stack has them.
func whole(t *testing.T, store stores) http.Handler {
	t.Helper()
	b, _ := base()
	context, _ := newContext()
	prompts, library := newPrompts(t)
	messages := httpapi.Messages(httpapi.MessagesDeps{
		Base: b, Sessions: store.sessions, SessionRemover: store.removed, Messages: store.messages, MessageRemover: store.removed,
		LongTerm: store.records, Eraser: &sweeper{needs: 2}, Tokens: words{}, Cursors: cursorKey(t, "1"),
	})
	coach := httpapi.Coach(httpapi.CoachDeps{
		Base: b, Verifier: tokens{}, Chat: &script{events: say(event("done", text{}))}, Export: httpapi.ExportDeps{
			Sessions: store.sessions, Messages: store.messages, LongTerm: store.records, Spines: spines{}, Prompts: library,
		},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/v1/chat" || path == "/v1/export":
			r.Header.Set("Authorization", "Bearer user:ann")
			coach.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/v1/prompts"):
			prompts.ServeHTTP(w, r)
		case path == "/v1/recall" || path == "/v1/context/query":
			context.ServeHTTP(w, r)
		default:
			messages.ServeHTTP(w, r)
		}
	})
}

// stores are what the contract is exercised over.
type stores struct {
	sessions conversation.SessionStore
	messages conversation.MessageStore
	removed  interface {
		httpapi.SessionRemover
		httpapi.MessageRemover
	}
	records httpapi.LongTerm
}

func TestContract(t *testing.T) {
	m := newMemory(noon)
	exercise(t, whole(t, stores{m, m, m, newLongTerm()}))
}

// exercise calls every operation, in good ways and bad, holds each answer against the served document, and fails where
// a documented success was never seen.
func exercise(t *testing.T, h http.Handler) {
	c := &contract{document: serveDocument(t, h), done: map[string]bool{}}
	do := func(status int, method, path string, body any) reply {
		t.Helper()
		return c.expect(t, h, status, call{method: method, path: path, user: "ann", body: body})
	}
	do(201, "POST", "/v1/sessions", object{"context": "coach_conversation", "coachId": "c1", "sessionId": "s1", "title": "t", "attributes": object{"a": 1.5}})
	do(409, "POST", "/v1/sessions", object{"context": "workout_log", "coachId": "c1", "sessionId": "s1"})
	do(400, "POST", "/v1/sessions", "{")
	do(413, "POST", "/v1/sessions", strings.Repeat(" ", 3<<20+1))
	do(422, "POST", "/v1/sessions", object{})
	do(200, "PATCH", "/v1/sessions/s1", object{"status": "completed", "mode": "m"})
	do(404, "PATCH", "/v1/sessions/gone", object{})
	message := object{"role": "assistant", "content": "x", "agentId": "coach", "metadata": object{"n": number("1234567890.5"), "l": []any{nil, true}}}
	var appended struct{ Messages []struct{ MessageID string } }
	do(201, "POST", "/v1/sessions/s1/messages", object{"messages": []any{message, message}}).decode(t, &appended)
	do(404, "POST", "/v1/sessions/gone/messages", object{"messages": []any{message}})
	do(422, "POST", "/v1/sessions/s1/messages", object{"messages": []any{}})
	do(202, "POST", "/v1/sessions/s1/leave", nil)
	for _, path := range []string{
		"/v1/sessions?limit=1", "/v1/sessions/s1", "/v1/sessions/s1/messages?limit=1", "/v1/messages?order=asc", "/v1/export",
		"/v1/preferences", "/v1/coaches", "/v1/goals", "/v1/check-ins", "/v1/memories", "/v1/todos", "/v1/prompts", "/v1/prompts/prm_1",
	} {
		do(200, "GET", path, nil)
	}
	for _, path := range []string{"/v1/sessions/gone", "/v1/sessions/gone/messages", "/v1/profile", "/v1/goals/gone", "/v1/coaches/gone", "/v1/prompts/gone"} {
		do(404, "GET", path, nil)
	}
	for path, body := range map[string]object{
		"/v1/profile": {"name": "Ann", "createdAt": "2020-01-01T00:00:00Z"}, "/v1/seed": {"content": "x"}, "/v1/user-summary": {"wins": []any{"w"}},
		"/v1/preferences": {"memory": false}, "/v1/coaches/c1": {"name": "Mia", "persona": "p", "model": "m"},
	} {
		do(200, "PUT", path, body)
		do(200, "GET", path, nil)
		do(422, "PUT", path, object{"unknown": 1})
	}
	for path, bodies := range map[string][2]object{
		"/v1/goals":    {{"title": "Run", "goalType": "habit"}, {"status": "paused"}},
		"/v1/memories": {{"type": "PEOPLE", "content": "x", "confidence": 0.5, "messageIds": []any{"m"}, "validUntil": "2030-01-01T00:00:00Z"}, {"pinned": true}},
		"/v1/todos":    {{"content": "x", "coachId": "c1"}, {"status": "COMPLETED"}},
	} {
		location := do(201, "POST", path, bodies[0]).header.Get("Location")
		do(200, "PATCH", location, bodies[1])
		do(200, "GET", location, nil)
		do(200, "GET", path, nil)
		do(204, "DELETE", location, nil)
		do(404, "DELETE", location, nil)
	}
	do(201, "POST", "/v1/check-ins", object{"note": "x"})
	do(200, "GET", "/v1/check-ins", nil)
	do(200, "POST", "/v1/context/query", object{"context": "workout_log"})
	do(200, "POST", "/v1/recall", object{"query": "x"})
	do(200, "POST", "/v1/prompts", object{"context": "workout_log", "sessionId": "s1", "message": "x"})
	do(200, "POST", "/v1/chat", object{"sessionId": "s1", "message": "x"})
	do(204, "DELETE", "/v1/coaches/c1", nil)
	do(204, "DELETE", "/v1/sessions/s1/messages/"+appended.Messages[0].MessageID, nil)
	do(204, "DELETE", "/v1/sessions/s1", nil)
	do(202, "DELETE", "/v1/user", nil)
	do(200, "DELETE", "/v1/user", nil)
	c.covered(t)
}

// covered fails for every documented success that was never seen.
func (c *contract) covered(t *testing.T) {
	t.Helper()
	for path, operations := range c.Paths {
		for method, op := range operations {
			for status := range op.Responses {
				if answer := strings.ToUpper(method) + " " + path + " " + status; status < "300" && !c.done[answer] {
					t.Errorf("%s: never seen", answer)
				}
			}
		}
	}
}
