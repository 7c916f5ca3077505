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
	"github.com/throughline/throughline/internal/testing/check"
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
	session := check.Got(sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(),
		transport, nil))(t)
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

// TestAServerRemembersForAUser has a server's token act for a user over MCP, and the user read what came of it.
func TestAServerRemembersForAUser(t *testing.T) {
	t.Parallel()
	var minted struct{ Token string }
	do(t, client.New(shared.Base), http.MethodPost, "/dev/tokens", map[string]any{"server": true}, &minted)
	server := connectMCP(t, withHeaders{"Authorization": "Bearer " + minted.Token, "Throughline-User": "mcp-bob"})
	callTool(t, server, "remember", map[string]any{"content": "Bob sails."}, &struct{}{})
	user := connectMCP(t, withHeaders{"Authorization": "Bearer " + mintToken(t, shared, "mcp-bob")})
	var got mcpItems
	callTool(t, user, "list_memories", map[string]any{}, &got)
	if !got.has("Bob sails.") {
		t.Errorf("what a server remembered for a user is not the user's: %+v", got)
	}
}
