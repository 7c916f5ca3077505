package rie_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/testing/check"
)

// invoke sends an event and returns the answer. The emulator, whose Extensions API is the service's own, ends an
// invocation when the extension in the function asks for the next event. So its spans have to be here by then: later,
// Lambda freezes the process.
func (s *system) invoke(t testing.TB, function string, event []byte) []byte {
	t.Helper()
	before := s.invocations(function)
	answer, err := s.functions[function].Invoke(t.Context(), event)
	if err != nil {
		t.Fatalf("%s: %v", function, err)
	}
	if sent := s.invocations(function) - before; sent != 1 && function != "migrate" {
		t.Errorf("an invocation of %s had sent %d spans of an invocation when it ended, want 1", function, sent)
	}
	return answer
}

// invocations returns how many invocations of a function have sent their spans.
func (s *system) invocations(function string) (n int) {
	spans, _ := s.spans.Spans()
	for _, span := range spans {
		if span.Service == "app-"+function && span.Attributes["faas.invocation_id"] != "" {
			n++
		}
	}
	return n
}

// call sends an event of the HTTP API, checks the answer's status and returns its body.
func (s *system) call(t testing.TB, function string, event []byte, want int) []byte {
	t.Helper()
	answer := decode[events.APIGatewayV2HTTPResponse](t, s.invoke(t, function, event))
	if answer.StatusCode != want {
		t.Fatalf("%s answered %d, want %d: %s", function, answer.StatusCode, want, answer.Body)
	}
	return []byte(answer.Body)
}

// callRoute calls a route of the messages function.
func (s *system) callRoute(t testing.TB, method, path, body string, want int) []byte {
	t.Helper()
	return s.call(t, "messages", request(t, method, path, body), want)
}

// TestFunctionsAnswerTheirEvents sends the events of infra/events to the functions' own binaries, built as for
// Lambda. A session is written, remembered and summarized, found from another context, used in a chat, and erased.
func TestFunctionsAnswerTheirEvents(t *testing.T) {
	t.Parallel()
	s := newSystem(t, nil)
	s.write(t)
	s.derive(t)
	s.find(t)
	s.prompt(t)
	s.chat(t)
	s.protocol(t)
	s.migrate(t)
	s.writeUserData(t)
	s.export(t)
	s.erase(t)
}

func (s *system) write(t testing.TB) {
	t.Helper()
	s.call(t, "messages", load(t, "messages"), http.StatusCreated)
	appended := decode[struct {
		Messages []struct{ Seq int }
		Session  struct{ MessageCount int }
	}](t, s.call(t, "messages", load(t, "messages-append"), http.StatusCreated))
	if len(appended.Messages) != 2 || appended.Session.MessageCount != 2 {
		t.Errorf("appended %+v, want 2 messages", appended)
	}
	document := s.callRoute(t, http.MethodGet, "/openapi.json", "", http.StatusOK)
	if !bytes.Contains(document, []byte(`"3.1`)) {
		t.Errorf("/openapi.json is not an OpenAPI 3.1 document: %.80s", document)
	}
}

// derive sends the stream's records to the functions that process it.
func (s *system) derive(t testing.TB) {
	t.Helper()
	s.batch(t, "remember", s.records(t, "remember", "msg#"))
	s.callRoute(t, http.MethodPatch, "/v1/sessions/session-1", `{"status":"completed"}`, http.StatusOK)
	s.batch(t, "summarize", s.records(t, "summarize", "conversation#"))
	session := decode[struct {
		Summary *struct{ Text, Kind string }
	}](t, s.callRoute(t, http.MethodGet, "/v1/sessions/session-1", "", http.StatusOK))
	if session.Summary == nil || session.Summary.Text == "" {
		t.Errorf("the completed session has no summary: %+v", session)
	}
	s.invoke(t, "summarize", load(t, "summarize-sweep"))
}

// batch sends records and fails if one is reported as failed.
func (s *system) batch(t testing.TB, function string, event []byte) {
	t.Helper()
	answer := decode[events.DynamoDBEventResponse](t, s.invoke(t, function, event))
	if len(answer.BatchItemFailures) > 0 {
		t.Errorf("%s reports failed records: %+v", function, answer.BatchItemFailures)
	}
}

func (s *system) find(t testing.TB) {
	t.Helper()
	found := decode[struct {
		Summaries []struct{ SessionID, RecordType string }
		Degraded  []json.RawMessage
	}](t, s.call(t, "context", load(t, "context"), http.StatusOK))
	if len(found.Summaries) != 1 || found.Summaries[0].SessionID != "session-1" || len(found.Degraded) > 0 {
		t.Errorf("another context finds %+v, want the summary of session-1", found)
	}
	recalled := decode[struct {
		Messages []struct{ SessionID, Content string }
		Degraded []json.RawMessage
	}](t, s.invoke(t, "context", load(t, "context-invoke")))
	if len(recalled.Messages) != 2 || len(recalled.Degraded) > 0 {
		t.Errorf("recall finds %+v, want both messages", recalled)
	}
}

func (s *system) prompt(t testing.TB) {
	t.Helper()
	type built struct {
		PromptID string
		Messages []struct{ Role, Content string }
		Manifest struct{ Degraded []json.RawMessage }
	}
	for _, p := range []built{
		decode[built](t, s.call(t, "prompt", load(t, "prompt"), http.StatusOK)),
		decode[built](t, s.invoke(t, "prompt", load(t, "prompt-invoke"))),
	} {
		if p.PromptID == "" || len(p.Messages) == 0 || !strings.Contains(p.Messages[len(p.Messages)-1].Content, "tomorrow") {
			t.Errorf("built %+v, want a prompt that ends with the message", p)
		}
	}
}

// migrate asks what a backfill would do, in a table whose sessions have moved.
func (s *system) migrate(t testing.TB) {
	t.Helper()
	answer := decode[struct {
		Stage    string
		Done     bool
		Forecast *struct{ Sessions int }
	}](t, s.invoke(t, "migrate", load(t, "migrate")))
	if answer.Stage != "shared" || !answer.Done || answer.Forecast == nil || answer.Forecast.Sessions != 0 {
		t.Errorf("the dry run answers %+v", answer)
	}
}

// chat sends a message to the coach function, which checks the token itself.
func (s *system) chat(t testing.TB) {
	t.Helper()
	if answer := s.invoke(t, "coach", load(t, "coach")); !bytes.Contains(answer, []byte(`"unauthorized"`)) {
		t.Errorf("an invalid token was answered with %s", answer)
	}
	event := bytes.ReplaceAll(load(t, "coach"), []byte("Bearer TOKEN"), []byte("Bearer "+s.token))
	answer := s.invoke(t, "coach", event)
	for _, part := range []string{"event: prompt\n", "event: token\n", "event: done\n"} {
		if !bytes.Contains(answer, []byte(part)) {
			t.Fatalf("the stream has no %q: %s", part, answer)
		}
	}
	// The same request at the other door is answered with the same turn.
	event = bytes.ReplaceAll(load(t, "coach-gateway"), []byte("Bearer TOKEN"), []byte("Bearer "+s.token))
	if answer := s.invoke(t, "coach", event); !bytes.Contains(answer, []byte("event: done\n")) {
		t.Errorf("the other door answers %s", answer)
	}
	if stored := s.items(t, "msg#"); len(stored) != 4 {
		t.Errorf("%d messages are stored after the chat, want 4", len(stored))
	}
}

// protocol calls tools and reads resources of the mcp function, which checks the token itself.
func (s *system) protocol(t testing.TB) {
	t.Helper()
	refused := decode[events.APIGatewayV2HTTPResponse](t, s.invoke(t, "mcp", load(t, "mcp")))
	if challenge := refused.Headers["Www-Authenticate"]; refused.StatusCode != http.StatusUnauthorized ||
		!strings.Contains(challenge, `="https://api.example.com/.well-known/oauth-protected-resource/mcp"`) {
		t.Errorf("an invalid token was answered with %d, %s", refused.StatusCode, challenge)
	}
	stored := s.callMCP(t, "remember", `{"name":"remember","arguments":{"content":"The user is allergic to peanuts."}}`)
	_, rest, _ := strings.Cut(stored, `"id":"memory_`)
	id, _, _ := strings.Cut(rest, `"`)
	for _, c := range []struct{ name, params, want string }{
		{"search", `{"name":"search","arguments":{"query":"peanuts"}}`, "allergic"},
		{"recent_activity", `{"name":"recent_activity","arguments":{}}`, "session-1"},
		{"list_memories", `{"name":"list_memories","arguments":{}}`, "memory_" + id},
		{"update_memory", `{"name":"update_memory","arguments":{"id":"memory_` + id + `","pinned":true}}`, `"pinned":true`},
		{"prompt_context", `{"name":"prompt_context","arguments":{"sessionId":"session-1","message":"Hi"}}`, "peanuts"},
		{"forget", `{"name":"forget","arguments":{"id":"memory_` + id + `"}}`, `"forgotten":true`},
		{"throughline://sessions", `{"uri":"throughline://sessions"}`, "session-1"},
		{"throughline://sessions/session-1/messages", `{"uri":"throughline://sessions/session-1/messages"}`, "content"},
		{"throughline://user-summary", `{"uri":"throughline://user-summary"}`, "patterns"},
	} {
		check.Contains(t, s.callMCP(t, c.name, c.params), c.want, "%s", c.name)
	}
}

// callMCP calls a tool or reads a resource, and returns the answer.
func (s *system) callMCP(t testing.TB, name, params string) string {
	t.Helper()
	e := decode[events.APIGatewayV2HTTPRequest](t, load(t, "mcp"))
	e.Headers["authorization"], e.Headers["mcp-name"] = "Bearer "+s.token, name
	if strings.Contains(name, "://") {
		e.Headers["mcp-method"] = "resources/read"
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	e.Body = `{"jsonrpc":"2.0","id":1,"method":"` + e.Headers["mcp-method"] + `","params":` +
		strings.TrimSuffix(params, "}") + "," + meta + "}}"
	answer := string(s.call(t, "mcp", encode(t, e), http.StatusOK))
	if strings.Contains(answer, `"isError":true`) || strings.Contains(answer, `"error":`) {
		t.Fatalf("%s: %s", name, answer)
	}
	return strings.ReplaceAll(answer, `\"`, `"`)
}

// writeUserData uses the routes of the user's own data, since the role's permissions differ between them.
func (s *system) writeUserData(t testing.TB) {
	t.Helper()
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodPut, "/v1/profile", `{"name":"Ada"}`, http.StatusOK},
		{http.MethodPut, "/v1/preferences", `{"timezone":"Europe/Berlin"}`, http.StatusOK},
		{http.MethodPut, "/v1/coaches/coach-2", `{"name":"Max","persona":"Calm."}`, http.StatusOK},
		{http.MethodGet, "/v1/coaches", "", http.StatusOK},
		{http.MethodDelete, "/v1/coaches/coach-2", "", http.StatusNoContent},
		{http.MethodGet, "/v1/sessions", "", http.StatusOK},
		{http.MethodGet, "/v1/messages", "", http.StatusOK},
		{http.MethodGet, "/v1/sessions/session-1/messages", "", http.StatusOK},
		{http.MethodPost, "/v1/sessions/session-1/leave", "", http.StatusAccepted},
	} {
		s.callRoute(t, c.method, c.path, c.body, c.want)
	}
	// A todo that is completed moves from the live records to the past ones.
	const body = `{"content":"Buy bands","coachId":"coach-1"}`
	todo := decode[struct{ ID string }](t, s.callRoute(t, http.MethodPost, "/v1/todos", body, http.StatusCreated))
	s.callRoute(t, http.MethodPatch, "/v1/todos/"+todo.ID, `{"status":"COMPLETED"}`, http.StatusOK)
	s.callRoute(t, http.MethodDelete, "/v1/todos/"+todo.ID, "", http.StatusNoContent)
}

func (s *system) export(t testing.TB) {
	t.Helper()
	e := decode[events.LambdaFunctionURLRequest](t, load(t, "coach"))
	e.RawPath, e.Body = "/v1/export", ""
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = http.MethodGet, e.RawPath
	e.Headers["authorization"] = "Bearer " + s.token
	answer := s.invoke(t, "coach", encode(t, e))
	for _, kind := range []string{`"kind":"session"`, `"kind":"message"`, `"kind":"profile"`} {
		if !bytes.Contains(answer, []byte(kind)) {
			t.Errorf("the export has no line with %s: %.400s", kind, answer)
		}
	}
}

// erase deletes a message, a session and then the user. The sweep runs after each.
func (s *system) erase(t testing.TB) {
	t.Helper()
	const session = "/v1/sessions/session-1"
	listed := decode[struct{ Items []struct{ MessageID string } }](t,
		s.callRoute(t, http.MethodGet, session+"/messages", "", http.StatusOK))
	for _, path := range []string{session + "/messages/" + listed.Items[0].MessageID, session} {
		s.callRoute(t, http.MethodDelete, path, "", http.StatusNoContent)
		s.invoke(t, "summarize", load(t, "summarize-sweep"))
	}
	receipt := decode[struct{ Remaining *int }](t,
		s.callRoute(t, http.MethodDelete, "/v1/user", "", http.StatusOK))
	if receipt.Remaining == nil || *receipt.Remaining != 0 {
		t.Errorf("the receipt says %+v remaining, want 0", receipt)
	}
	s.invoke(t, "summarize", load(t, "summarize-sweep"))
	for _, prefix := range []string{"msg#", "conversation#", "ltm#", "past#", "summary#", "prompt#"} {
		if left := s.items(t, prefix); len(left) > 0 {
			t.Errorf("%d records of %s are left", len(left), prefix)
		}
	}
}
