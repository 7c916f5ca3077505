package e2e_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/throughline/throughline/infra/client"
)

// withHeaders sets headers on every request.
type withHeaders map[string]string

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// connectMCP returns a session of the protocol's own client over HTTP.
func connectMCP(t *testing.T, headers withHeaders) *sdk.ClientSession {
	t.Helper()
	return startMCP(t, &sdk.StreamableClientTransport{
		Endpoint: shared.Base + "/mcp", HTTPClient: &http.Client{Transport: headers},
	})
}

func startMCP(t *testing.T, transport sdk.Transport) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// callTool calls a tool and decodes its structured answer.
func callTool(t *testing.T, session *sdk.ClientSession, name string, in, out any) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if result.IsError {
		t.Fatalf("%s: %s", name, result.Content[0].(*sdk.TextContent).Text)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type mcpItems struct {
	Items []struct{ ID, Kind, Text, Content, SessionID string }
}

func (i mcpItems) has(text string) bool {
	for _, item := range i.Items {
		if strings.Contains(item.Text+item.Content, text) {
			return true
		}
	}
	return false
}

// TestTwoSurfacesOneMemory has the app's API and a client of the protocol, by HTTP and by standard input, use one
// memory.
func TestTwoSurfacesOneMemory(t *testing.T) {
	t.Parallel()
	token := mintToken(t, shared, "mcp-ann")
	app := client.New(shared.Base).WithToken(token)
	byHTTP := connectMCP(t, withHeaders{"Authorization": "Bearer " + token})
	byStdio := startMCP(t, &sdk.CommandTransport{Command: mcpCommand(t,
		"THROUGHLINE_URL="+shared.Base, "THROUGHLINE_TOKEN="+token)})

	open(t, app, "coach_conversation", "s")
	said := map[string]any{"role": "user", "content": "My knee hurts after the marathon."}
	do(t, app, http.MethodPost, "/v1/sessions/s/messages", map[string]any{"messages": []any{said}}, nil)
	var stored struct{ Memory struct{ ID string } }
	fact := map[string]any{"content": "The user is allergic to peanuts.", "pinned": true}
	callTool(t, byStdio, "remember", fact, &stored)
	do(t, client.New(shared.Base), http.MethodPost, "/dev/settle", map[string]any{"timeoutMs": 30000}, nil)

	for name, session := range map[string]*sdk.ClientSession{"HTTP": byHTTP, "stdio": byStdio} {
		for query, want := range map[string]string{"marathon knee": "My knee hurts", "peanut allergy": "allergic"} {
			var got mcpItems
			callTool(t, session, "search", map[string]any{"query": query}, &got)
			if !got.has(want) {
				t.Errorf("%s: a search for %s finds %+v", name, query, got)
			}
		}
		resource, err := session.ReadResource(t.Context(),
			&sdk.ReadResourceParams{URI: "throughline://sessions/s/messages"})
		if err != nil || !strings.Contains(resource.Contents[0].Text, "My knee hurts") {
			t.Errorf("%s: the session's messages are %+v, %v", name, resource, err)
		}
	}
	ask := map[string]any{"context": "coach_conversation", "sessionId": "s", "message": "What may I eat?"}
	var ofApp, ofClient struct{ Messages []message }
	do(t, app, http.MethodPost, "/v1/prompts", ask, &ofApp)
	callTool(t, byHTTP, "prompt_context", map[string]any{"sessionId": "s", "message": "What may I eat?"}, &ofClient)
	for who, messages := range map[string][]message{"app": ofApp.Messages, "client": ofClient.Messages} {
		says := func(m message) bool { return strings.Contains(m.Content, "allergic to peanuts") }
		if !slices.ContainsFunc(messages, says) {
			t.Errorf("the prompt of the %s lacks what was remembered: %+v", who, messages)
		}
	}
	callTool(t, byHTTP, "forget", map[string]any{"id": stored.Memory.ID}, &struct{}{})
	wantProblem(t, app.Do(t.Context(), http.MethodGet, "/v1/memories/"+stored.Memory.ID, nil, nil), 404, "not_found", "")
	var left mcpItems
	callTool(t, byStdio, "list_memories", map[string]any{}, &left)
	if left.has("peanuts") {
		t.Errorf("left after forget: %+v", left)
	}
}

// mcpCommand builds infra/cli and returns its command mcp.
func mcpCommand(t *testing.T, environment ...string) *exec.Cmd {
	t.Helper()
	program := filepath.Join(t.TempDir(), "mcp")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cli")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	command := exec.CommandContext(t.Context(), program, "mcp")
	command.Env = append(command.Environ(), environment...)
	return command
}

// TestMCPChecksTokens sends tokens that the function has to refuse by itself, and a server's that names a user.
func TestMCPChecksTokens(t *testing.T) {
	t.Parallel()
	mint := func(in map[string]any) string {
		t.Helper()
		var minted struct{ Token string }
		do(t, client.New(shared.Base), http.MethodPost, "/dev/tokens", in, &minted)
		return minted.Token
	}
	user, server := mint(map[string]any{"userId": "mcp-bob"}), mint(map[string]any{"server": true})
	byID := mint(map[string]any{"userId": "b", "audience": "client_id"})
	unscoped := mint(map[string]any{"userId": "b", "scopes": []string{"openid"}})
	metadata := `resource_metadata="` + shared.Base + `/.well-known/oauth-protected-resource/mcp"`
	for name, tt := range map[string]struct {
		headers   withHeaders
		status    int
		challenge string
	}{
		"none":                   {withHeaders{}, 401, metadata},
		"not a token":            {withHeaders{"Authorization": "Bearer abc"}, 401, `error="invalid_token"`},
		"a user's":               {withHeaders{"Authorization": "Bearer " + user}, 200, ""},
		"a client id":            {withHeaders{"Authorization": "Bearer " + byID}, 200, ""},
		"for nothing":            {withHeaders{"Authorization": "Bearer " + unscoped}, 403, `error="insufficient_scope"`},
		"of a page":              {withHeaders{"Authorization": "Bearer " + user, "Origin": "https://evil.example"}, 403, ""},
		"for another":            {withHeaders{"Authorization": "Bearer " + user, "Throughline-User": "mcp-ann"}, 403, ""},
		"a server's":             {withHeaders{"Authorization": "Bearer " + server, "Throughline-User": "mcp-bob"}, 200, ""},
		"a server's, for nobody": {withHeaders{"Authorization": "Bearer " + server}, 422, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_memories","arguments":{}}}`
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shared.Base+"/mcp", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			out, err := tt.headers.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = out.Body.Close()
			if got := out.Header.Get("WWW-Authenticate"); out.StatusCode != tt.status || !strings.Contains(got, tt.challenge) {
				t.Errorf("status %d, challenge %q", out.StatusCode, got)
			}
		})
	}
	ofServer := connectMCP(t, withHeaders{"Authorization": "Bearer " + server, "Throughline-User": "mcp-bob"})
	callTool(t, ofServer, "remember", map[string]any{"content": "Bob sails."}, &struct{}{})
	var got mcpItems
	callTool(t, connectMCP(t, withHeaders{"Authorization": "Bearer " + user}), "list_memories", map[string]any{}, &got)
	if !got.has("Bob sails.") {
		t.Errorf("what a server remembered for a user is not the user's: %+v", got)
	}
}
