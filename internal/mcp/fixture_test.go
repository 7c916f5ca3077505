package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/mcp"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// door takes "Bearer user" and "Bearer user:app".
type door struct{}

func (door) Admit(_ http.ResponseWriter, r *http.Request) (mcp.Caller, error) {
	token, err := httpapi.BearerToken(r)
	if err != nil {
		return mcp.Caller{}, err
	}
	if token == "bad" {
		return mcp.Caller{}, fault.New(fault.Unauthorized, "the token has expired")
	}
	user, kind, _ := strings.Cut(token, ":")
	return mcp.Caller{User: conversation.UserID(user), App: kind == "app"}, nil
}

// ChargeForgetting refuses the user busy.
func (door) ChargeForgetting(_ context.Context, user conversation.UserID) error {
	if user == "busy" {
		return fault.New(fault.RateLimited, "too many requests")
	}
	return nil
}

func (door) Refuse(w http.ResponseWriter, err error, parameters string) {
	httpapi.WriteRefusal(w, err, parameters)
}

// searcher finds the records that a test gives.
type searcher struct {
	records []recall.Record
	recent  []recall.SummaryHit
	err     error
	asked   recall.RecordQuery
}

func (s *searcher) Records(_ context.Context, _ conversation.UserID, q recall.RecordQuery) (recall.Records, error) {
	s.asked = q
	return recall.Records{Records: s.records, Degraded: []recall.Degradation{{Source: "embedding", Reason: "late"}}}, s.err
}

func (s *searcher) Recent(context.Context, conversation.UserID, recall.RecentQuery) (recall.Summaries, error) {
	hit := recall.SummaryHit{Context: "workout_log", SessionID: "s", Text: "Squats."}
	return recall.Summaries{Summaries: append(s.recent, hit)}, s.err
}

// prompter builds a prompt that names what it was asked for.
type prompter struct{}

func (prompter) Build(_ context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error) {
	if r.Message == "panic" {
		panic("secret message")
	}
	return prompt.Prompt{
		ID: "prm_1", System: "for " + string(user) + " in " + r.Context,
		Messages: []prompt.Message{{Role: "user", Content: r.Message}},
	}, nil
}

// words counts words as tokens.
type words struct{}

func (words) Count(text string) int { return len(strings.Fields(text)) }

// system is a server of the protocol over a store of its own.
type system struct {
	url    string
	search *searcher
	clock  *dynamotest.Clock
	log    *check.Log
	stores dynamotest.Stores
}

func newSystem(t *testing.T) *system {
	t.Helper()
	s := &system{search: &searcher{}, log: &check.Log{}, clock: dynamotest.NewClock()}
	s.stores = dynamotest.New(t, s.clock.Option())
	handler := mcp.New(mcp.Deps{
		Door: door{}, Search: s.search, Memories: s.stores.Memories, Facts: s.stores.Recall,
		Sessions: s.stores.Sessions, Messages: s.stores.Messages, Summary: s.stores.UserSummaries,
		Prompts: prompter{}, Tokens: words{}, Now: s.clock.Time,
		Log:    slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Issuer: "https://issuer.example", Origins: []string{"https://app.example"},
	})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// withHeaders sets headers on every request.
type withHeaders map[string]string

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// connect returns a session of the library's client with a token.
func (s *system) connect(t *testing.T, token string) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session := check.Got(client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint:   s.url + "/mcp",
		HTTPClient: &http.Client{Transport: withHeaders{"Authorization": "Bearer " + token}},
	}, nil))(t)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// post sends a body to the protocol's path.
func (s *system) post(t *testing.T, body string, headers map[string]string) *http.Response {
	t.Helper()
	r := check.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(body)))(t)
	all := withHeaders{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
	maps.Copy(all, headers)
	out := check.Got(all.RoundTrip(r))(t)
	t.Cleanup(func() { _ = out.Body.Close() })
	return out
}

type arguments = map[string]any

// call calls a tool and decodes its structured answer. It returns the text of an error.
func call[Out any](t *testing.T, session *sdk.ClientSession, name string, in arguments) (out Out, failure string) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text := result.Content[0].(*sdk.TextContent).Text
	if result.IsError {
		return out, text
	}
	structured := check.Got(json.Marshal(result.StructuredContent))(t)
	for _, raw := range []string{text, string(structured)} {
		if err := json.Unmarshal([]byte(raw), &out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return out, ""
}

// mustCall calls a tool that has to succeed.
func mustCall[Out any](t *testing.T, session *sdk.ClientSession, name string, in arguments) Out {
	t.Helper()
	out, failure := call[Out](t, session, name, in)
	if failure != "" {
		t.Fatalf("%s(%v): %s", name, in, failure)
	}
	return out
}

type memory struct {
	ID, Type, Content, Until, About, EndedReason string
	Pinned, Valid                                bool
}

type remembered struct {
	Notice  string
	Created bool
	Memory  memory
}

type listed struct {
	Notice     string
	Items      []memory
	NextCursor string
}
