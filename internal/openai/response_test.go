package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/testing/check"
)

// plainResponse is a response as OpenAI sends it, with the reasoning before the answer.
const plainResponse = `{"id":"resp_1","object":"response","created_at":1,"status":"completed","error":null,
	"incomplete_details":null,"model":"answering-model","output":[
	{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hidden"}]},
	{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[
	{"type":"output_text","text":"{\"summary\":\"short\"}","annotations":[]}]}],
	"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,
	"output_tokens_details":{"reasoning_tokens":2},"total_tokens":10}}`

// call is a call of the search tool.
func call(arguments string) llm.ToolCall {
	return llm.ToolCall{ID: "call_1", Name: "search", Arguments: arguments}
}

func TestResponse(t *testing.T) {
	t.Parallel()
	client, sent := recorded(t, config.OpenAI{BaseURL: ownService, ChatModel: "gpt-6-luna"})
	request := askWithTool("")
	request.Messages = append(request.Messages,
		llm.Message{Role: "assistant", Content: "Wait.", ToolCalls: []llm.ToolCall{call(`{"query":"hips"}`)}},
		llm.Message{Role: "tool", ToolCallID: "call_1", Content: "nothing"})
	got := check.Got(client.Complete(t.Context(), request))(t)
	want := llm.Completion{
		Text: `{"summary":"short"}`, Model: "answering-model", FinishReason: "stop",
		Usage: llm.Usage{PromptTokens: 7, CachedTokens: 4, CompletionTokens: 3, TotalTokens: 10},
	}
	check.Same(t, want, got, "completion")
	wantSent := map[string]any{
		"model": "gpt-6-luna", "max_output_tokens": 4400.0, "store": false,
		"safety_identifier": "hash", "prompt_cache_key": "session",
		"prompt_cache_options": map[string]any{"mode": "explicit"},
		"reasoning":            map[string]any{"effort": "low"},
		"input": []any{
			map[string]any{"type": "message", "role": "system", "content": "be short"},
			map[string]any{"type": "message", "role": "user", "content": "hello"},
			map[string]any{"type": "message", "role": "assistant", "content": "Wait."},
			map[string]any{"type": "function_call", "call_id": "call_1", "name": "search", "arguments": `{"query":"hips"}`},
			map[string]any{"type": "function_call_output", "call_id": "call_1", "output": "nothing"},
		},
		"tools": []any{map[string]any{
			"type": "function", "name": "search", "description": "Searches.", "strict": false,
			"parameters": map[string]any{"type": "object"},
		}},
		"tool_choice": "none",
		"text": map[string]any{"format": map[string]any{
			"type": "json_schema", "name": "note", "strict": true, "schema": map[string]any{"type": "object"},
		}},
	}
	check.Same(t, wantSent, sent.body, "request")
}

// answering returns a client of a Responses model whose service always answers with this text.
func answering(t *testing.T, answer string) *openai.Client {
	client, _ := serviceOf(t, config.OpenAI{ChatModel: "gpt-6-luna"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/responses" {
			t.Errorf("path %s", r.URL.Path)
		}
		io.WriteString(w, answer)
	})
	return client
}

func TestResponseEndings(t *testing.T) {
	t.Parallel()
	const message = `{"type":"message","role":"assistant","content":[`
	for name, tt := range map[string]struct {
		answer string
		want   llm.Completion
	}{
		"refusal": {
			`{"status":"completed","output":[` + message + `{"type":"refusal","refusal":"I can't."}]}]}`,
			llm.Completion{Text: "I can't.", Refused: true, FinishReason: "stop"},
		},
		"cut": {
			`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + message +
				`{"type":"output_text","text":"Glu"}]}]}`,
			llm.Completion{Text: "Glu", FinishReason: "length"},
		},
		"filtered": {
			`{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`,
			llm.Completion{FinishReason: "content_filter"},
		},
		"calls a tool": {
			`{"status":"completed","output":[{"type":"reasoning","summary":[]},{"type":"function_call","id":"fc_1",` +
				`"call_id":"call_1","name":"search","arguments":"{}","status":"completed"}]}`,
			llm.Completion{FinishReason: "tool_calls", ToolCalls: []llm.ToolCall{call("{}")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := answering(t, tt.answer).Complete(t.Context(), llm.Request{})
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestResponseFailures(t *testing.T) {
	t.Parallel()
	failed := func(code string) string {
		return `{"status":"failed","error":{"code":"` + code + `","message":"my secret"},"output":[]}`
	}
	for name, tt := range map[string]struct {
		answer string
		want   fault.Code
	}{
		"server error":    {failed("server_error"), fault.Unavailable},
		"rate limit":      {failed("rate_limit_exceeded"), fault.RateLimited},
		"invalid prompt":  {failed("invalid_prompt"), fault.Internal},
		"too long":        {failed("context_length_exceeded"), fault.Internal},
		"filtered":        {failed("content_filter"), fault.Internal},
		"without a cause": {`{"status":"failed","error":null,"output":[]}`, fault.Unavailable},
		"in progress":     {`{"status":"in_progress","output":[]}`, fault.Unavailable},
		"malformed item":  {`{"status":"completed","output":[{"type":"message","content":"my secret"}]}`, fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := answering(t, tt.answer).Complete(t.Context(), llm.Request{})
			if !fault.Is(err, tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want %s without the content", err, tt.want)
			}
		})
	}
}

// events writes server-sent events of the Responses API, each with its name.
func events(list ...string) string {
	var out strings.Builder
	for _, data := range list {
		var event struct{ Type string }
		if json.Unmarshal([]byte(data), &event) == nil {
			out.WriteString("event: " + event.Type + "\n")
		}
		out.WriteString("data: " + data + "\n\n")
	}
	return out.String()
}

const (
	createdEvent   = `{"type":"response.created","response":{"status":"in_progress","output":[]}}`
	reasoningEvent = `{"type":"response.output_item.done","item":{"type":"reasoning","summary":[]}}`
	firstDelta     = `{"type":"response.output_text.delta","delta":"Glute "}`
	secondDelta    = `{"type":"response.output_text.delta","delta":"bridges."}`
	textDoneEvent  = `{"type":"response.output_text.done","text":"Glute bridges."}`
	callEvent      = `{"type":"response.output_item.done","item":{"type":"function_call","id":"fc_1","call_id":"call_1",` +
		`"name":"search","arguments":"{}"}}`
	completedEvent = `{"type":"response.completed","response":{"status":"completed","model":"m","output":[],` +
		`"usage":{"input_tokens":5,"output_tokens":2,"total_tokens":7}}}`
	incompleteEvent = `{"type":"response.incomplete","response":{"status":"incomplete","model":"m","output":[],` +
		`"incomplete_details":{"reason":"max_output_tokens"},` +
		`"usage":{"input_tokens":5,"output_tokens":2,"total_tokens":7}}}`
)

func TestResponseStream(t *testing.T) {
	t.Parallel()
	usage := llm.Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}
	calls := []llm.ToolCall{call("{}")}
	for name, tt := range map[string]struct {
		events []string
		want   llm.Completion
	}{
		"text": {
			[]string{createdEvent, reasoningEvent, firstDelta, secondDelta, textDoneEvent, completedEvent},
			llm.Completion{Text: wholeAnswer, Model: "m", FinishReason: "stop", Usage: usage},
		},
		"cut": {
			[]string{createdEvent, firstDelta, incompleteEvent},
			llm.Completion{Text: "Glute ", Model: "m", FinishReason: "length", Usage: usage},
		},
		"refusal": {
			[]string{createdEvent, `{"type":"response.refusal.delta","delta":"I can't."}`, completedEvent},
			llm.Completion{Text: "I can't.", Refused: true, Model: "m", FinishReason: "stop", Usage: usage},
		},
		"tool call": {
			[]string{createdEvent, reasoningEvent, callEvent, completedEvent},
			llm.Completion{ToolCalls: calls, Model: "m", FinishReason: "tool_calls", Usage: usage},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			emitted, got, err := collect(answering(t, events(tt.events...)), t)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil || emitted != tt.want.Text {
				t.Errorf("emitted %q, %v (-want +got)\n%s", emitted, err, diff)
			}
		})
	}
}

func TestBrokenResponseStreamReturnsAnErrorAndWhatArrived(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		last string
		want fault.Code
	}{
		"connection lost": {"", fault.Unavailable},
		"error event":     {`{"type":"error","code":"server_error","message":"my secret","param":null}`, fault.Unavailable},
		"nested error": {
			`{"type":"error","error":{"code":"insufficient_quota","message":"my secret"}}`, fault.RateLimited,
		},
		"failed": {
			`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded",` +
				`"message":"my secret"},"output":[]}}`, fault.RateLimited,
		},
		"too long": {
			`{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded",` +
				`"message":"my secret"},"output":[]}}`, fault.Internal,
		},
		"failed without a response":    {`{"type":"response.failed"}`, fault.Unavailable},
		"completed without a response": {`{"type":"response.completed"}`, fault.Unavailable},
		"malformed event":              {`{"type": my secret`, fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := events(createdEvent, firstDelta, secondDelta)
			if tt.last != "" {
				sent += events(tt.last)
			}
			emitted, got, err := collect(answering(t, sent), t)
			if !fault.Is(err, tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want %s without the content", err, tt.want)
			}
			if got.Text != wholeAnswer || emitted != wholeAnswer {
				t.Errorf("returned %q, emitted %q, want %q", got.Text, emitted, wholeAnswer)
			}
		})
	}
}
