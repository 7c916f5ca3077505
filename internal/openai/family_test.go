package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/testing/check"
)

// wire is what a service gets of one request.
type wire struct {
	path string
	body map[string]any
}

// recorded returns a client of a service that records its last request and answers in the API that was called.
func recorded(t *testing.T, cfg config.OpenAI) (*openai.Client, *wire) {
	t.Helper()
	sent := &wire{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*sent = wire{path: r.URL.Path}
		if err := json.NewDecoder(r.Body).Decode(&sent.body); err != nil {
			t.Error(err)
		}
		answer := plainAnswer
		if strings.HasSuffix(r.URL.Path, "/responses") {
			answer = plainResponse
		}
		io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	to := server.Listener.Addr().String()
	return openai.New(cfg, openai.WithTransport(redirect{to, server.Client().Transport})), sent
}

// redirect sends every request to one address, whatever its URL says.
type redirect struct {
	to   string
	next http.RoundTripper
}

func (r redirect) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.URL.Scheme, request.URL.Host = "http", r.to
	return r.next.RoundTrip(request)
}

const (
	ownService   = "https://api.openai.com/v1"
	otherService = "http://localhost:11434/v1"
)

// askWithTool is a request with everything that depends on the family.
func askWithTool(model string) llm.Request {
	return llm.Request{
		Model: model, MaxTokens: 400, User: "hash", CacheKey: "session", MustAnswer: true,
		Messages: []llm.Message{{Role: "system", Content: "be short"}, {Role: "user", Content: "hello"}},
		Tools: []llm.Tool{{
			Name: "search", Description: "Searches.", Parameters: json.RawMessage(`{"type":"object"}`),
		}},
		Schema: &llm.Schema{Name: "note", JSON: json.RawMessage(`{"type":"object"}`)},
	}
}

// sentParts is the part of a request that depends on the family. Room is the limit without the answer's own 400.
type sentParts struct {
	Path, Limit string
	Room        float64
	Effort      string
}

func parts(t *testing.T, sent *wire) sentParts {
	t.Helper()
	got := sentParts{Path: strings.TrimPrefix(sent.path, "/v1")}
	for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		if n, ok := sent.body[name].(float64); ok {
			got.Limit += name
			got.Room = n - 400
		}
	}
	switch got.Path {
	case "/responses":
		if reasoning, ok := sent.body["reasoning"].(map[string]any); ok {
			got.Effort, _ = reasoning["effort"].(string)
		}
	default:
		got.Effort, _ = sent.body["reasoning_effort"].(string)
	}
	for _, name := range []string{"temperature", "top_p", "frequency_penalty", "presence_penalty", "logprobs", "n"} {
		if v, ok := sent.body[name]; ok {
			t.Errorf("the request has %s: %v", name, v)
		}
	}
	if tools, ok := sent.body["tools"].([]any); !ok || len(tools) != 1 {
		t.Errorf("tools %v, want one", sent.body["tools"])
	}
	if choice := sent.body["tool_choice"]; choice != "none" {
		t.Errorf("the choice of tools is %v", choice)
	}
	return got
}

// TestOnlyAnAnswerMayNotCall sends no choice of tools but where the model has to answer.
func TestOnlyAnAnswerMayNotCall(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"gpt-6-luna", "gpt-oss:20b"} {
		client, sent := recorded(t, config.OpenAI{BaseURL: otherService, ChatModel: model})
		request := askWithTool("")
		request.MustAnswer = false
		check.Got(client.Complete(t.Context(), request))(t)
		if choice, ok := sent.body["tool_choice"]; ok {
			t.Errorf("%s: the choice of tools is %v", model, choice)
		}
	}
}

func TestRequestOfEachFamily(t *testing.T) {
	t.Parallel()
	const (
		chat, responses          = "/chat/completions", "/responses"
		old, completion, outputs = "max_tokens", "max_completion_tokens", "max_output_tokens"
	)
	for _, tt := range []struct {
		model, base string
		effort      config.Effort
		want        sentParts
	}{
		{"gpt-6-astra", ownService, "", sentParts{responses, outputs, 4000, "low"}},
		{"gpt-6-astra", ownService, "none", sentParts{responses, outputs, 4000, "low"}},
		{"gpt-6.1-sol", ownService, "max", sentParts{responses, outputs, 64000, "max"}},
		{"gpt-6.1-terra", otherService, "", sentParts{responses, outputs, 4000, "low"}},
		{"gpt-6-sol", ownService, "", sentParts{responses, outputs, 4000, "low"}},
		{"gpt-6-luna", ownService, "", sentParts{responses, outputs, 4000, "low"}},
		{"gpt-6-luna", ownService, "none", sentParts{responses, outputs, 0, "none"}},
		{"gpt-6-luna", ownService, "minimal", sentParts{responses, outputs, 4000, "low"}},
		{"gpt-6-luna", otherService, "medium", sentParts{responses, outputs, 12000, "medium"}},
		{"openai/gpt-6-luna", otherService, "", sentParts{responses, outputs, 4000, "low"}},
		{"gpt-5.6-terra", ownService, "xhigh", sentParts{responses, outputs, 50000, "xhigh"}},
		{"chat-latest", ownService, "low", sentParts{responses, outputs, 12000, ""}},
		{"gpt-5.3-chat-latest", otherService, "", sentParts{responses, outputs, 12000, ""}},
		{"gpt-5.5-pro", ownService, "low", sentParts{responses, outputs, 25000, "high"}},
		{"gpt-5.3-codex", otherService, "max", sentParts{responses, outputs, 25000, "high"}},
		{"gpt-5.4-mini", ownService, "none", sentParts{responses, outputs, 0, "none"}},
		{"gpt-5.4-mini", otherService, "max", sentParts{responses, outputs, 50000, "xhigh"}},
		{"gpt-5.1", ownService, "minimal", sentParts{responses, outputs, 4000, "low"}},
		{"gpt-5.1", otherService, "none", sentParts{chat, completion, 0, "none"}},
		{"gpt-5-mini", ownService, "none", sentParts{responses, outputs, 4000, "minimal"}},
		{"gpt-5-nano-2025-08-07", otherService, "", sentParts{chat, completion, 4000, "low"}},
		{"o3", ownService, "none", sentParts{responses, outputs, 4000, "low"}},
		{"o4-mini", otherService, "high", sentParts{chat, completion, 25000, "high"}},
		{"gpt-4o-mini", ownService, "high", sentParts{responses, outputs, 0, ""}},
		{"ft:gpt-4.1-mini:app::1", ownService, "", sentParts{responses, outputs, 0, ""}},
		{"gpt-4o-mini", otherService, "high", sentParts{chat, old, 0, ""}},
		{"gpt-oss:20b", otherService, "", sentParts{chat, old, 4000, "low"}},
		{"openai/gpt-oss-120b", otherService, "max", sentParts{chat, old, 25000, "high"}},
		{"gpt-7", "https://eu.api.openai.com/v1", "", sentParts{responses, outputs, 12000, ""}},
		{"gpt-7", ownService, "low", sentParts{responses, outputs, 4000, "low"}},
		{"llama3", otherService, "", sentParts{chat, old, 0, ""}},
		{"qwen3:8b", otherService, "high", sentParts{chat, old, 25000, "high"}},
		{"llama3", "https://api.openai.com.example/v1", "", sentParts{chat, old, 0, ""}},
	} {
		t.Run(tt.model+" "+string(tt.effort)+" "+tt.base, func(t *testing.T) {
			t.Parallel()
			client, sent := recorded(t, config.OpenAI{BaseURL: tt.base, ChatModel: "other", ChatEffort: tt.effort})
			got, err := client.Complete(t.Context(), askWithTool(tt.model))
			if err != nil || got.Text != `{"summary":"short"}` {
				t.Fatalf("%+v, %v", got, err)
			}
			if diff := cmp.Diff(tt.want, parts(t, sent)); diff != "" || sent.body["model"] != tt.model {
				t.Errorf("request for %v (-want +got)\n%s", sent.body["model"], diff)
			}
		})
	}
}

func TestTheConfiguredModelGoesThroughTheTable(t *testing.T) {
	t.Parallel()
	cfg := config.OpenAI{
		BaseURL: ownService, ChatModel: "gpt-6-astra", ChatEffort: "high",
		BackgroundModel: "gpt-6-luna",
	}
	for name, tt := range map[string]struct {
		cfg    config.OpenAI
		model  string
		effort string
	}{
		"chat":       {cfg, "gpt-6-astra", "high"},
		"background": {cfg.Background(), "gpt-6-luna", "low"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, sent := recorded(t, tt.cfg)
			check.Got(client.Complete(t.Context(), askWithTool("")))(t)
			if got := parts(t, sent).Effort; got != tt.effort || sent.body["model"] != tt.model {
				t.Errorf("model %v with effort %q, want %s with %q", sent.body["model"], got, tt.model, tt.effort)
			}
		})
	}
	without := config.OpenAI{BaseURL: ownService, ChatModel: "gpt-6-sol", ChatEffort: "max"}.Background()
	if without.ChatModel != "gpt-6-sol" || without.ChatEffort != "" {
		t.Errorf("background model %q with effort %q", without.ChatModel, without.ChatEffort)
	}
}

// TestLeastEffort asks for the least reasoning. Of models that are not known no more is
// known than before.
func TestLeastEffort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ model, base, effort string }{
		{"gpt-6-luna", ownService, "none"},
		{"gpt-6-astra", ownService, "low"},
		{"gpt-5-mini", ownService, "minimal"},
		{"gpt-4o-mini", ownService, ""},
		{"gpt-7", ownService, ""},
		{"qwen3:8b", otherService, ""},
	} {
		client, sent := recorded(t, config.OpenAI{BaseURL: tt.base, ChatModel: "other"})
		r := askWithTool(tt.model)
		r.LeastEffort = true
		check.Got(client.Complete(t.Context(), r))(t)
		check.Equal(t, tt.effort, parts(t, sent).Effort, "%s is asked with effort", tt.model)
	}
}

// TestOneSystemMessage sends a system message in front of the last one. The templates of many open models refuse it
// there, so other services get it in the first message. OpenAI's own gets it where it is.
func TestOneSystemMessage(t *testing.T) {
	t.Parallel()
	messages := []llm.Message{
		{Role: "system", Content: "be short"},
		{Role: "user", Content: "hello"},
		{Role: "assistant", Content: "hi"},
		{Role: "system", Content: "it is noon"},
		{Role: "user", Content: "what now?"},
	}
	apart := []string{"system: be short", "user: hello", "assistant: hi", "system: it is noon", "user: what now?"}
	joined := []string{"system: be short\n\nit is noon", "user: hello", "assistant: hi", "user: what now?"}
	for _, tt := range []struct {
		model string
		want  []string
	}{{"qwen3", joined}, {"openai/gpt-oss-20b", joined}, {"gpt-4o-mini", apart}} {
		client, sent := recorded(t, config.OpenAI{BaseURL: otherService, ChatModel: tt.model})
		check.Got(client.Complete(t.Context(), llm.Request{Messages: messages}))(t)
		var got []string
		for _, m := range sent.body["messages"].([]any) {
			m := m.(map[string]any)
			got = append(got, m["role"].(string)+": "+m["content"].(string))
		}
		check.Same(t, tt.want, got, "%s", tt.model)
	}
}
