package offlinemodel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/infra/local/embedder"
	"github.com/throughline/throughline/infra/local/offlinemodel"
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
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
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
		{"empty key", "POST", chat, `{}`, "Bearer  ", 401, "API key"},
		{"not bearer", "GET", "/v1/models", ``, "Basic abc", 401, "API key"},
		{"unknown route", "POST", "/v1/audio/speech", `{}`, "Bearer k", 404, "/v1/audio/speech"},
		{"route outside v1", "POST", "/chat/completions", `{}`, "Bearer k", 404, "Invalid URL"},
		{"wrong method", "GET", chat, ``, "Bearer k", 404, "GET"},
		{"not JSON", "POST", chat, `{"model":`, "Bearer k", 400, "parse the JSON"},
		{"wrong type", "POST", chat, `{"model":1}`, "Bearer k", 400, "model"},
		{"no model", "POST", chat, `{"messages":[{"role":"user","content":"hi"}]}`, "Bearer k", 400, "model"},
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
		{"limit of nothing", "POST", chat, `{` + hello + `,"max_tokens":0}`, "Bearer k", 400, "max_completion_tokens"},
		{
			"strict but open schema", "POST", chat, `{` + hello + `,"response_format":{"type":"json_schema",` +
				`"json_schema":{"name":"s","strict":true,"schema":{"type":"object","properties":{}}}}}`, "Bearer k", 400,
			"additionalProperties",
		},
		{"strict but optional property", "POST", chat, `{` + hello + `,"response_format":{"type":"json_schema",` +
			`"json_schema":{"name":"s","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}},` +
			`"required":[],"additionalProperties":false}}}}`, "Bearer k", 400, "'a'"},
		{"choice of no tool", "POST", chat, `{` + hello + `,"tools":[{"type":"function","function":{"name":"f"}}],` +
			`"tool_choice":{"type":"function","function":{"name":"g"}}}`, "Bearer k", 400, "'g'"},
		{
			"base64", "POST", embed, `{"model":"m","input":"a","encoding_format":"base64"}`, "Bearer k", 400, "float",
		},
		{"empty input", "POST", embed, `{"model":"m","input":""}`, "Bearer k", 400, "empty"},
		{"empty text in a list", "POST", embed, `{"model":"m","input":["a",""]}`, "Bearer k", 400, "empty"},
		{"empty list", "POST", embed, `{"model":"m","input":[]}`, "Bearer k", 400, "empty"},
		{"no input", "POST", embed, `{"model":"m"}`, "Bearer k", 400, "input"},
		{"input of no known form", "POST", embed, `{"model":"m","input":{"a":1}}`, "Bearer k", 400, "input"},
		{"no dimensions", "POST", embed, `{"model":"m","input":"a","dimensions":0}`, "Bearer k", 400, "dimensions"},
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

func TestClientSeesErrorsAsTheServices(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	_, err := client.CreateEmbeddings(t.Context(), openai.EmbeddingRequestStrings{Model: "m", Input: []string{""}})
	var apiError *openai.APIError
	if !errors.As(err, &apiError) || apiError.HTTPStatusCode != http.StatusBadRequest || apiError.Param == nil {
		t.Errorf("error %v, want an APIError with status 400 and a parameter", err)
	}
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	e := embedder.New()
	texts := []string{"squat day", "I live in Porto"}
	want := [][]float32{e.Embed(texts[0], 384), e.Embed(texts[1], 384)}
	got, err := client.CreateEmbeddings(t.Context(), openai.EmbeddingRequestStrings{
		Model: openai.SmallEmbedding3, Input: texts, Dimensions: 384,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range got.Data {
		if diff := cmp.Diff(want[i], d.Embedding); diff != "" || d.Index != i {
			t.Errorf("input %d has index %d and another vector: %s", i, d.Index, diff)
		}
	}
	if got.Model != offlinemodel.ModelID || got.Usage.PromptTokens != 7 || got.Usage.TotalTokens != 7 {
		t.Errorf("model %s, usage %+v", got.Model, got.Usage)
	}
}

func TestEmbeddingsInputForms(t *testing.T) {
	t.Parallel()
	_, server := newClient(t)
	want := embedder.New().Embed("hello world", embedder.DefaultDimensions)
	for _, input := range []string{`"hello world"`, `["hello world"]`} {
		status, body := send(t, server, "/v1/embeddings", `{"model":"m","input":`+input+`}`)
		var got openai.EmbeddingResponse
		if err := json.Unmarshal(body, &got); err != nil || status != http.StatusOK || len(got.Data) != 1 {
			t.Fatalf("input %s: %d %.100s", input, status, body)
		}
		if diff := cmp.Diff(want, got.Data[0].Embedding); diff != "" {
			t.Errorf("input %s has another vector", input)
		}
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

// FuzzContents uses any text as a system prompt, a user's message and a tool's result. Every kind of answer must stay
// well-formed.
func FuzzContents(f *testing.F) {
	f.Add(coachPrompt, "Did I tell you where I live?", `{"messages":[{"content":"Porto"}]}`)
	f.Add("<a b=\"c\">\n[x]: y</a>", "Previous summary:\nThe user said: a; b.\nuser: I'll book it, my wife Ana too",
		"[1] x")
	f.Add("CURRENT QUERY:\n", "[msg_1] user (m2): I\u2019m allergic to \x00 nuts", "")
	handler := offlinemodel.Handler()
	f.Fuzz(func(t *testing.T, system, user, tool string) {
		call := []openai.ToolCall{{ID: "c", Type: "function", Function: openai.FunctionCall{Name: "search_conversations"}}}
		for name, schema := range map[string]string{
			"": "", "session_summary": summarySchema,
			"memory_extraction": extractionSchema,
		} {
			request := ask(system, user)
			request.Messages[0].MultiContent, request.Messages[0].Content = []openai.ChatMessagePart{{
				Type: "text",
				Text: system,
			}}, ""
			request.Messages[1].MultiContent, request.Messages[1].Content = []openai.ChatMessagePart{{
				Type: "text",
				Text: user,
			}}, ""
			if schema == "" {
				request.Stream = true
				request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: "assistant", ToolCalls: call},
					openai.ChatCompletionMessage{Role: "tool", ToolCallID: "c", MultiContent: []openai.ChatMessagePart{{
						Type: "text",
						Text: tool,
					}}})
			} else {
				request.ResponseFormat = &openai.ChatCompletionResponseFormat{
					Type: "json_schema",
					JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
						Name: name, Schema: json.RawMessage(schema), Strict: true,
					},
				}
			}
			body, err := json.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			recorder := httptest.NewRecorder()
			httpRequest := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions",
				bytes.NewReader(body))
			httpRequest.Header.Set("Authorization", "Bearer k")
			handler.ServeHTTP(recorder, httpRequest)
			if recorder.Code != http.StatusOK {
				t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
			}
			checkAnswer(t, recorder)
			if schema != "" {
				var response openai.ChatCompletionResponse
				if err := json.Unmarshal(recorder.Body.Bytes(), &response); err != nil {
					t.Fatal(err)
				}
				checkAgainst(t, schema, response.Choices[0].Message.Content)
			}
		}
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
