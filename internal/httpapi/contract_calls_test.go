package httpapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/claims"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/llm/provider"
	"github.com/throughline/throughline/internal/testing/check"
)

// contractChecker checks responses against the served OpenAPI document.
type contractChecker struct {
	document
	// done are the answers seen: "GET /v1/goals 200".
	done map[string]bool
}

// operation returns the documented path that matches a request's path.
func (c *contractChecker) operation(path string) string {
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

// expect sends a call and checks the response against the document.
func (c *contractChecker) expect(t *testing.T, h http.Handler, status int, request call) reply {
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
	for _, name := range []string{"Location", "Retry-After", "Idempotency-Replayed"} {
		if _, documented := response.Headers[name]; !documented && r.header.Get(name) != "" {
			t.Errorf("%s %s: the document's %d has no header %s", request.method, path, status, name)
		}
	}
	if at := r.header.Get("Location"); at != "" {
		if _, served := c.Paths[c.operation(at)]["get"]; !served {
			t.Errorf("%s %s: Location %s is of no operation", request.method, path, at)
		}
	}
	media, documented := response.Content[r.header.Get("Content-Type")]
	if !documented {
		if len(response.Content) > 0 || len(r.body) > 0 {
			t.Errorf(
				"%s %s: %d answers %q with %d bytes, the document says %v", request.method, path, status,
				r.header.Get("Content-Type"), len(r.body), slices.Collect(maps.Keys(response.Content)),
			)
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

// allFunctions returns one handler for the paths of all functions, as the local stack does.
func allFunctions(t *testing.T, store stores) http.Handler {
	t.Helper()
	return limitedFunctions(t, store, nil)
}

// limitedFunctions is allFunctions with a limiter.
func limitedFunctions(t *testing.T, store stores, limiter httpapi.Limiter) http.Handler {
	t.Helper()
	b, _ := base()
	b.Limiter = limiter
	library, documents := &fakePrompts{}, newMemory(t, noon).documents
	context := httpapi.Context(httpapi.ContextDeps{
		Base: b, Recaller: &fakeRecaller{}, Documents: documents, Cursors: cursorKey(t, "1"),
	})
	prompts := httpapi.Prompts(httpapi.PromptsDeps{Base: b, Prompter: library, Cursors: cursorKey(t, "1")})
	messages := httpapi.Messages(httpapi.MessagesDeps{
		Base: b, Sessions: store.sessions, SessionRemover: store.removed, Messages: store.messages,
		MessageRemover: store.removed, SessionCutter: fakeCutter{},
		LongTerm: store.records, Eraser: store.eraser, Tokens: fakeCounter{}, Cursors: cursorKey(t, "1"),
		Documents: documents, Spines: spines{}, Usage: usage{}, Health: backfilling(),
	})
	coach := httpapi.Coach(httpapi.CoachDeps{
		Base: b, Verifier: fakeVerifier{}, Chat: &fakeChat{events: say(event("done", text{}))}, Turns: fakeTurns{},
		Export: httpapi.ExportDeps{
			Sessions: store.sessions, Messages: store.messages, LongTerm: store.records, Spines: spines{}, Prompts: library,
			Documents: documents, Usage: usage{}, Held: held{}, Limit: &fakeExportLimit{},
		},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/v1/chat"), strings.HasPrefix(path, "/v1/turns"), path == "/v1/export":
			who, err := claims.OfToken(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			if err == nil {
				scopes := strings.Join(who.Scopes, ",")
				r.Header.Set("Authorization", "Bearer scopes:"+scopes+":"+who.Subject)
			}
			coach.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/v1/prompts"):
			prompts.ServeHTTP(w, r)
		case slices.Contains([]string{
			"/v1/recall", "/v1/search", "/v1/memories/search", "/v1/context/query", "/v1/documents",
		}, path):
			context.ServeHTTP(w, r)
		default:
			messages.ServeHTTP(w, r)
		}
	})
}

// stores are the stores of all functions.
type stores struct {
	sessions conversation.SessionStore
	messages httpapi.MessageStore
	removed  interface {
		httpapi.SessionRemover
		httpapi.MessageRemover
	}
	eraser  httpapi.Eraser
	records httpapi.LongTerm
}

func TestContract(t *testing.T) {
	t.Parallel()
	callEveryOperation(t, allFunctions(t, newMemory(t, noon).erasable()))
}

// callEveryOperation calls every operation with valid and invalid input and checks each response against the served
// document. It fails if a documented success status was never returned.
func callEveryOperation(t *testing.T, h http.Handler) {
	c := &contractChecker{document: serveDocument(t, h), done: map[string]bool{}}
	do := func(status int, method, path string, body any) reply {
		t.Helper()
		return c.expect(t, h, status, as("ann", method, path, body))
	}
	do(
		201,
		"POST",
		"/v1/sessions",
		object{
			"context": "coach_conversation", "coachId": "c1", "sessionId": "s1", "title": "t", "attributes": object{"a": 1.5},
		},
	)
	do(409, "POST", "/v1/sessions", object{"context": "workout_log", "coachId": "c1", "sessionId": "s1"})
	do(201, "PUT", "/v1/sessions/s2", object{"context": "workout_log", "coachId": "c1", "title": "first"})
	do(200, "PUT", "/v1/sessions/s2", object{"context": "workout_log", "coachId": "c1", "title": "second"})
	do(409, "PUT", "/v1/sessions/s2", object{"context": "coach_conversation", "coachId": "c1"})
	do(422, "PUT", "/v1/sessions/s2", object{"context": "workout_log"})
	do(400, "POST", "/v1/sessions", "{")
	do(413, "POST", "/v1/sessions", strings.Repeat(" ", 3<<20+1))
	do(422, "POST", "/v1/sessions", object{})
	do(200, "PATCH", "/v1/sessions/s1", object{"status": "completed", "mode": "m"})
	do(404, "PATCH", "/v1/sessions/gone", object{})
	message := object{
		"role": "assistant", "content": "x", "agentId": "coach",
		"metadata": object{"n": number("1234567890.5"), "l": []any{nil, true}},
	}
	var appended struct{ Messages []struct{ MessageID string } }
	do(201, "POST", "/v1/sessions/s1/messages", object{"messages": []any{message, message}}).decode(t, &appended)
	do(404, "POST", "/v1/sessions/gone/messages", object{"messages": []any{message}})
	do(422, "POST", "/v1/sessions/s1/messages", object{"messages": []any{}})
	first := "/v1/sessions/s1/messages/" + appended.Messages[0].MessageID
	do(200, "GET", "/v1/sessions/s1/quotes?messageId="+appended.Messages[0].MessageID, nil)
	do(404, "GET", "/v1/sessions/gone/quotes?messageId=x", nil)
	do(422, "DELETE", first+"?quotes=all", nil)
	do(404, "DELETE", "/v1/sessions/s1/messages/x?quotes=delete", nil)
	do(202, "POST", "/v1/sessions/s1/leave", nil)
	for _, path := range []string{
		"/v1/sessions?limit=1", "/v1/sessions/s1", "/v1/sessions/s1/messages?limit=1", "/v1/messages?order=asc",
		"/v1/sessions/s1/ui-messages?order=desc", "/v1/export",
		"/v1/preferences", "/v1/coaches", "/v1/goals", "/v1/check-ins", "/v1/memories", "/v1/todos", "/v1/prompts",
		"/v1/prompts/prm_1", "/v1/spines", "/v1/usage", "/v1/health", "/v1/app",
	} {
		do(200, "GET", path, nil)
	}
	for _, path := range []string{
		"/v1/sessions/gone", "/v1/sessions/gone/messages", "/v1/profile", "/v1/goals/gone", "/v1/coaches/gone",
		"/v1/prompts/gone",
	} {
		do(404, "GET", path, nil)
	}
	for path, body := range map[string]object{
		"/v1/profile": {
			"name": "Ann", "createdAt": "2020-01-01T00:00:00Z",
		}, "/v1/seed": {"content": "x"}, "/v1/user-summary": {"wins": []any{"w"}},
		"/v1/preferences": {"memory": false}, "/v1/coaches/c1": {"name": "Mia", "persona": "p", "model": "m"},
	} {
		do(200, "PUT", path, body)
		do(200, "GET", path, nil)
		do(422, "PUT", path, object{"unknown": 1})
	}
	for path, bodies := range map[string][2]object{
		"/v1/goals": {{"title": "Run", "goalType": "habit"}, {"status": "paused"}},
		"/v1/memories": {
			{
				"type": "PEOPLE", "content": "x", "confidence": 0.5, "messageIds": []any{"m"}, "validUntil": "2030-01-01T00:00:00Z",
			},
			{"pinned": true},
		},
		"/v1/todos": {{"content": "x", "coachId": "c1"}, {"status": "COMPLETED"}},
	} {
		location := do(201, "POST", path, bodies[0]).header.Get("Location")
		do(200, "PATCH", location, bodies[1])
		do(200, "GET", location, nil)
		if path == "/v1/memories" {
			do(200, "GET", location+"/history", nil)
			do(200, "POST", location+"/restore", nil)
			do(200, "POST", location+"/review", object{"verdict": "confirm"})
			do(409, "POST", location+"/review", object{"verdict": "reject"})
		}
		do(200, "GET", path, nil)
		do(204, "DELETE", location, nil)
		do(404, "DELETE", location, nil)
	}
	do(201, "PUT", "/v1/documents/a%2Fb/k", object{"value": object{"n": 1}, "index": []string{"n"}, "ttlSeconds": 60})
	do(200, "PUT", "/v1/documents/a%2Fb/k", object{"value": object{"n": number("1.5")}})
	do(422, "PUT", "/v1/documents/a%2Fb/k", object{"value": 1})
	do(200, "GET", "/v1/documents/a%2Fb/k", nil)
	do(404, "GET", "/v1/documents/a%2Fb/l", nil)
	do(200, "GET", "/v1/documents?namespace=a&filter=%7B%22n%22:1.5%7D&limit=1", nil)
	do(200, "GET", "/v1/documents?query=walk&namespace=a", nil)
	do(422, "GET", "/v1/documents?filter=1", nil)
	do(200, "GET", "/v1/document-namespaces?prefix=a&suffix=*&maxDepth=1", nil)
	do(204, "DELETE", "/v1/documents/a%2Fb/k", nil)
	do(404, "DELETE", "/v1/documents/a%2Fb/k", nil)
	do(200, "GET", "/v1/todos?status=PENDING&limit=1", nil)
	do(422, "GET", "/v1/todos?status=DONE", nil)
	do(200, "GET", "/v1/memories?type=PEOPLE&valid=false", nil)
	do(422, "GET", "/v1/memories?valid=maybe", nil)
	do(201, "POST", "/v1/check-ins", object{"note": "x"})
	do(200, "GET", "/v1/check-ins", nil)
	do(200, "POST", "/v1/context/query", object{"context": "workout_log"})
	do(200, "POST", "/v1/recall", object{"query": "x"})
	do(200, "POST", "/v1/memories/search", object{"query": "x"})
	do(200, "POST", "/v1/search", object{"query": "x", "kinds": []string{"message", "summary", "memory"}})
	do(422, "POST", "/v1/search", object{"query": "x", "kinds": []string{"note"}})
	do(200, "POST", "/v1/prompts", object{"context": "workout_log", "sessionId": "s1", "message": "x"})
	for _, format := range provider.Formats() {
		do(200, "POST", "/v1/prompts", object{"context": "workout_log", "sessionId": "s1", "message": "x", "format": format})
	}
	do(200, "POST", "/v1/chat", object{"sessionId": "s1", "message": "x"})
	do(200, "GET", "/v1/chat/s1/stream", nil)
	do(204, "GET", "/v1/chat/quiet/stream", nil)
	do(201, "POST", "/v1/turns", object{"sessionId": "s1", "message": "x"})
	do(200, "POST", "/v1/turns/turn_1/finish", object{"content": "x"})
	do(200, "GET", "/v1/turns/turn_1", nil)
	do(204, "DELETE", "/v1/coaches/c1", nil)
	do(200, "DELETE", "/v1/sessions/s1/messages/"+appended.Messages[1].MessageID+"?quotes=list", nil)
	do(200, "POST", "/v1/sessions/s1/messages/truncate", object{"lastN": 1, "replacement": []any{message}})
	do(200, "DELETE", "/v1/sessions/s1/messages", nil)
	check.Equal(t, "", do(204, "DELETE", first, nil).header.Get("Content-Type"), "an answer without a body")
	do(204, "DELETE", "/v1/sessions/s1", nil)
	do(404, "GET", "/v1/user/erasure", nil)
	do(202, "DELETE", "/v1/user", nil)
	do(202, "GET", "/v1/user/erasure", nil)
	do(200, "DELETE", "/v1/user", nil)
	do(200, "GET", "/v1/user/erasure", nil)
	c.covered(t)
}

// covered fails for every documented success status that was never returned.
func (c *contractChecker) covered(t *testing.T) {
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
