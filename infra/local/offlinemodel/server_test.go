package offlinemodel_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/infra/local/embedder"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/testing/check"
)

// newClient returns the real client library, talking to a server of the test's own.
func newClient(t *testing.T) (*openai.Client, *httptest.Server) {
	t.Helper()
	return clientOf(t, offlinemodel.Handler)
}

func clientOf(t *testing.T, handler func() http.Handler) (*openai.Client, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(handler())
	t.Cleanup(server.Close)
	config := openai.DefaultConfig("any-key")
	config.BaseURL = server.URL + "/v1"
	return openai.NewClientWithConfig(config), server
}

// send posts a body as it is, with a key.
func send(t *testing.T, server *httptest.Server, path, body string) (status int, answer []byte) {
	t.Helper()
	return sendAs(t, server, http.MethodPost, path, body, "Bearer any")
}

func sendAs(t *testing.T, server *httptest.Server, method, path, body, authorization string) (int, []byte) {
	t.Helper()
	request := check.Got(http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body)))(t)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response := check.Got(server.Client().Do(request))(t)
	defer response.Body.Close()
	answer := check.Got(io.ReadAll(response.Body))(t)
	return response.StatusCode, answer
}

func TestErrorsHaveTheServicesForm(t *testing.T) {
	t.Parallel()
	_, server := newClient(t)
	const (
		chat, embed = "/v1/chat/completions", "/v1/embeddings"
		hello       = `"model":"m","messages":[{"role":"user","content":"hi"}]`
	)
	tests := []struct {
		name, method, path, body, key string
		status                        int
		mention                       string
	}{
		{"no key", "POST", chat, `{}`, "", 401, "API key"},
		{"unknown route", "POST", "/v1/audio/speech", `{}`, "Bearer k", 404, "/v1/audio/speech"},
		{"not JSON", "POST", chat, `{"model":`, "Bearer k", 400, "parse the JSON"},
		{"no messages", "POST", chat, `{"model":"m"}`, "Bearer k", 400, "messages"},
		{
			"unknown role", "POST", chat, `{"model":"m","messages":[{"role":"robot","content":"hi"}]}`, "Bearer k", 400,
			"robot",
		},
		{"no content", "POST", chat, `{"model":"m","messages":[{"role":"user"}]}`, "Bearer k", 400, "content"},
		{
			"stray tool message", "POST", chat, `{"model":"m","messages":[{"role":"tool","tool_call_id":"x","content":"hi"}]}`,
			"Bearer k", 400, "tool_calls",
		},
		{
			"unanswered tool call", "POST", chat, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c1",` +
				`"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"hi"}]}`, "Bearer k", 400,
			"c1",
		},
		{
			"strict but open schema", "POST", chat, `{` + hello + `,"response_format":{"type":"json_schema",` +
				`"json_schema":{"name":"s","strict":true,"schema":{"type":"object","properties":{}}}}}`, "Bearer k", 400,
			"additionalProperties",
		},
		{"strict but optional property", "POST", chat, `{` + hello + `,"response_format":{"type":"json_schema",` +
			`"json_schema":{"name":"s","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}},` +
			`"required":[],"additionalProperties":false}}}}`, "Bearer k", 400, "'a'"},
		{"empty input", "POST", embed, `{"model":"m","input":""}`, "Bearer k", 400, "empty"},
		{"too many dimensions", "POST", embed, `{"model":"m","input":"a","dimensions":3073}`, "Bearer k", 400, "3072"},
		{
			"too long an input", "POST", embed, `{"model":"m","input":"` + strings.Repeat("word ", 8200) + `"}`, "Bearer k",
			400, "8192",
		},
		{
			"too many inputs", "POST", embed, `{"model":"m","input":["a"` + strings.Repeat(`,"a"`, 2048) + `]}`, "Bearer k",
			400, "2048",
		},
		{"too large a body", "POST", chat, `"` + strings.Repeat("a", 17<<20) + `"`, "Bearer k", 413, "16 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body := sendAs(t, server, tt.method, tt.path, tt.body, tt.key)
			var answer struct {
				Error *openai.APIError `json:"error"`
			}
			if err := json.Unmarshal(body, &answer); err != nil || answer.Error == nil {
				t.Fatalf("not an error of the service: %.200s", body)
			}
			if status != tt.status || !strings.Contains(answer.Error.Message, tt.mention) ||
				answer.Error.Type != "invalid_request_error" {
				t.Errorf("%d %s: %q; want %d with %q", status, answer.Error.Type, answer.Error.Message, tt.status, tt.mention)
			}
		})
	}
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	e := embedder.New()
	texts := []string{"squat day", "I live in Porto"}
	want := [][]float32{e.Embed(texts[0], 384), e.Embed(texts[1], 384)}
	got := check.Got(client.CreateEmbeddings(t.Context(), openai.EmbeddingRequestStrings{
		Model: openai.SmallEmbedding3, Input: texts, Dimensions: 384,
	}))(t)
	for i, d := range got.Data {
		if diff := cmp.Diff(want[i], d.Embedding); diff != "" || d.Index != i {
			t.Errorf("input %d has index %d and another vector: %s", i, d.Index, diff)
		}
	}
	if got.Model != offlinemodel.ModelID || got.Usage.PromptTokens != 7 || got.Usage.TotalTokens != 7 {
		t.Errorf("model %s, usage %+v", got.Model, got.Usage)
	}
}

func FuzzHandler(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","input":"squat"}`,
		`{"model":"m","input":[[1,2]],"dimensions":1}`,
		`{"model":"m","messages":[{"role":"user","content":"Did I tell you about my knee?"}],"stream":true,` +
			`"tools":[{"type":"function","function":{"name":"search_conversations","parameters":{"type":"object"}}}]}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"json"}]}],` +
			`"response_format":{"type":"json_object"},"stop":"a"}`,
		`{"model":"m","messages":[{"role":"user","content":"user: I live in Porto"}],` +
			`"response_format":{"type":"json_schema","json_schema":{"name":"session_summary","schema":{"type":"object",` +
			`"properties":{"summary":{"type":"string"}}}}}}`,
		`{"model":"m","messages":[{"role":"user","content":"[m1] user: I'm allergic to nuts"}],` +
			`"response_format":{"type":"json_schema","json_schema":{"name":"memory_extraction",` +
			`"schema":{"$defs":{"f":{"$ref":"#/$defs/f"}},"anyOf":[{"$ref":"#/$defs/f"}]}}}}`,
	} {
		f.Add("/v1/chat/completions", []byte(seed))
		f.Add("/v1/embeddings", []byte(seed))
	}
	handler := offlinemodel.Handler()
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		request.URL.Path = path
		request.Header.Set("Authorization", "Bearer k")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		checkAnswer(t, recorder)
	})
}

// checkAnswer fails for anything but a JSON answer, a stream that is complete, or an error in the service's form.
func checkAnswer(t *testing.T, recorder *httptest.ResponseRecorder) {
	t.Helper()
	body := recorder.Body.Bytes()
	switch {
	case recorder.Code >= http.StatusInternalServerError:
		t.Fatalf("status %d: %s", recorder.Code, body)
	case recorder.Header().Get("Content-Type") == "text/event-stream":
		if !bytes.HasSuffix(body, []byte("data: [DONE]\n\n")) {
			t.Fatalf("incomplete stream: %s", body)
		}
	case recorder.Code == http.StatusOK:
		if !json.Valid(body) {
			t.Fatalf("not JSON: %s", body)
		}
	default:
		var answer struct {
			Error struct{ Message, Type string } `json:"error"`
		}
		if err := json.Unmarshal(body, &answer); err != nil || answer.Error.Message == "" || answer.Error.Type == "" {
			t.Fatalf("status %d without an error in the service's form: %s", recorder.Code, body)
		}
	}
}
