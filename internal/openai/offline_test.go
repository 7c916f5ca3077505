package openai_test

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/openai"
)

// offline returns a client of the local stack's server, which checks a model's requests as the service does.
func offline(t *testing.T, model string) *openai.Client {
	t.Helper()
	server := httptest.NewServer(offlinemodel.Handler())
	t.Cleanup(server.Close)
	return openai.New(config.OpenAI{
		BaseURL: server.URL + "/v1", APIKey: "any", ChatModel: model,
		Embedding: config.Embedding{Model: "text-embedding-3-small", Dimensions: 64},
	})
}

func TestServiceAcceptsEveryRequest(t *testing.T) {
	t.Parallel()
	for _, model := range []string{
		"gpt-6.1-sol", "gpt-6-luna", "gpt-5.6-terra", "gpt-5.5-pro", "gpt-5.3-codex", "gpt-5.3-chat-latest", "gpt-5.4-mini",
		"gpt-5.1", "gpt-5-mini", "o4-mini", "gpt-4o-mini", "gpt-oss:20b", "throughline-offline",
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			acceptsEveryRequest(t, offline(t, model))
		})
	}
}

func acceptsEveryRequest(t *testing.T, client *openai.Client) {
	t.Helper()
	request := llm.Request{
		Messages: []llm.Message{
			{Role: "system", Content: "You are a coach."},
			{Role: "user", Content: "What did we swap?"},
			{Role: "assistant", ToolCalls: []llm.ToolCall{{ID: "call_1", Name: "search", Arguments: `{"query":"swap"}`}}},
			{Role: "tool", ToolCallID: "call_1", Content: `{"messages":["hip thrusts for glute bridges"]}`},
		},
		Tools: []llm.Tool{{Name: "search", Description: "Searches.", Parameters: json.RawMessage(
			`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}`,
		)}},
		MaxTokens: 300, User: "0123456789abcdef",
	}
	whole, err := client.Complete(t.Context(), request)
	if err != nil || whole.Text == "" || whole.Usage.TotalTokens == 0 || whole.FinishReason == "" {
		t.Fatalf("%+v, %v", whole, err)
	}
	request.MustAnswer = true
	var pieces []string
	streamed, err := client.Stream(t.Context(), request, func(delta string) error {
		pieces = append(pieces, delta)
		return nil
	})
	if err != nil || len(pieces) < 2 || strings.Join(pieces, "") != streamed.Text || streamed.Usage.TotalTokens == 0 {
		t.Errorf("%d pieces, %+v, %v", len(pieces), streamed, err)
	}
	request.Tools, request.Messages = nil, request.Messages[:2]
	request.Schema = &llm.Schema{Name: "note", JSON: json.RawMessage(
		`{"type":"object","properties":{"note":{"type":"string"}},"required":["note"],"additionalProperties":false}`,
	)}
	shaped, err := client.Complete(t.Context(), request)
	var note struct{ Note string }
	if err != nil || json.Unmarshal([]byte(shaped.Text), &note) != nil || note.Note == "" {
		t.Errorf("%+v, %v", shaped, err)
	}
}

func TestEmbedWithTheOfflineModel(t *testing.T) {
	t.Parallel()
	texts := []string{"glute bridges", "", strings.Repeat("glute bridges ", 5000)}
	vectors, err := offline(t, "").Embed(t.Context(), texts)
	if err != nil || len(vectors) != 3 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for i, v := range []int{0, 2} {
		length := 0.0
		for _, x := range vectors[v] {
			length += float64(x) * float64(x)
		}
		if len(vectors[v]) != 64 || math.Abs(length-1) > 1e-5 {
			t.Errorf("vector %d has %d dimensions and length %v", i, len(vectors[v]), length)
		}
	}
}
