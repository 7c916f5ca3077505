package offlinemodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/testing/check"
)

// askResponse is a request of the Responses API with the coach's prompt and its tool.
func askResponse(question string) openai.CreateResponseRequest {
	return openai.CreateResponseRequest{
		Model: "gpt-6-luna",
		Input: []any{
			openai.ResponseInputMessage{Role: "system", Content: coachPrompt},
			openai.ResponseInputMessage{Role: "user", Content: question},
		},
		Tools: []openai.ResponseTool{openai.NewResponseFunctionTool(*searchTools[0].Function)},
	}
}

func TestResponseSaysWhatTheCompletionSays(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	const question = "What should I do in tomorrow's session?"
	request := askResponse(question)
	got := check.Got(client.CreateResponse(t.Context(), request))(t)
	same := ask(coachPrompt, question)
	same.Tools = searchTools
	want := complete(t, client, same)
	if got.GetOutputText() != want.Choices[0].Message.Content || got.Status != "completed" || got.Model != want.Model {
		t.Errorf("status %s: %q, want %q", got.Status, got.GetOutputText(), want.Choices[0].Message.Content)
	}
	reasoning := got.Usage.OutputTokensDetails.ReasoningTokens
	if got.Usage.InputTokens != want.Usage.PromptTokens || reasoning != 1024 ||
		got.Usage.OutputTokens != want.Usage.CompletionTokens+reasoning {
		t.Errorf("usage %+v, want that of the completion, %+v, and 1024 tokens of reasoning", *got.Usage, want.Usage)
	}
	streamed, text := streamResponse(t, client, request)
	if text != got.GetOutputText() || streamed.Usage.TotalTokens != got.Usage.TotalTokens {
		t.Errorf("streamed %q with %+v", text, streamed.Usage)
	}
}

// streamResponse returns the last event's response, and the deltas of texts and arguments.
func streamResponse(
	t *testing.T, client *openai.Client, request openai.CreateResponseRequest,
) (last openai.CreateResponseResponse, text string) {
	t.Helper()
	stream := check.Got(client.CreateResponseStream(t.Context(), request))(t)
	defer func() { _ = stream.Close() }() // it is read to its end
	for sequence := 0; ; sequence++ {
		event, err := stream.Recv()
		if err != nil {
			t.Fatalf("after %d events: %v", sequence, err)
		}
		if event.SequenceNumber != sequence {
			t.Errorf("event %d has the number %d", sequence, event.SequenceNumber)
		}
		switch event.Type {
		case openai.ResponseStreamEventOutputTextDelta, openai.ResponseStreamEventFunctionArgumentsDelta:
			text += event.Delta
		case openai.ResponseStreamEventCompleted, openai.ResponseStreamEventIncomplete:
			return *event.Response, text
		}
	}
}

func TestReasoningSpendsTheLimitFirst(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	for _, tt := range []struct {
		effort string
		limit  int
		text   bool
		status openai.ResponseStatus
	}{
		{"low", 100, false, "incomplete"},
		{"low", 266, true, "incomplete"},
		{"low", 4_000, true, "completed"},
		{"none", 100, true, "completed"},
	} {
		request := askResponse("Where do I live?")
		request.MaxOutputTokens, request.Reasoning = tt.limit, &openai.ResponseReasoning{Effort: tt.effort}
		got, err := client.CreateResponse(t.Context(), request)
		if err != nil || got.Status != tt.status || (got.GetOutputText() != "") != tt.text ||
			got.Usage.OutputTokens > tt.limit {
			t.Errorf("effort %s within %d: %s with %q and %+v, %v",
				tt.effort, tt.limit, got.Status, got.GetOutputText(), got.Usage, err)
		}
		chat := ask(coachPrompt, "Where do I live?")
		chat.Model, chat.MaxCompletionTokens, chat.ReasoningEffort = "gpt-6-luna", tt.limit, tt.effort
		if same := complete(t, client, chat); same.Usage.CompletionTokens != got.Usage.OutputTokens {
			t.Errorf("effort %s within %d: a chat completion of %d tokens, a response of %d",
				tt.effort, tt.limit, same.Usage.CompletionTokens, got.Usage.OutputTokens)
		}
	}
}

// TestModelsRefuseWhatTheServiceRefuses sends each request as it is.
func TestModelsRefuseWhatTheServiceRefuses(t *testing.T) {
	t.Parallel()
	_, server := newClient(t)
	const (
		chat, responses = "/v1/chat/completions", "/v1/responses"
		said            = `,"messages":[{"role":"user","content":"hi"}]`
		input           = `,"input":"hi"`
		call            = `"type":"function_call","call_id":"c"`
		result          = `"type":"function_call_output","call_id":"c","output":"x"`
		cache           = `"prompt_cache_options":{"mode":`
		chatTool        = `,"tools":[{"type":"function","function":{"name":"f"}}]`
	)
	key64 := strings.Repeat("k", 64)
	marked := func(role string) string {
		return `,"input":[{"role":"` + role + `","content":[{"type":"input_text","text":"hi",` +
			`"prompt_cache_breakpoint":{"mode":"explicit"}}]},{"role":"user","content":"hi"}]`
	}
	for name, tt := range map[string]struct {
		path, body string
		status     int
		mention    string
	}{
		"max_tokens, reasoning":  {chat, `"model":"o4-mini","max_tokens":99` + said, 400, "max_completion_tokens"},
		"max_tokens of GPT-4":    {chat, `"model":"gpt-4o-mini","max_tokens":99` + said, 200, ""},
		"max_tokens, llama":      {chat, `"model":"llama3","max_tokens":99` + said, 200, ""},
		"tools beside reasoning": {chat, `"model":"gpt-6-luna"` + said + chatTool, 400, "use /v1/responses"},
		"tools, effort none":     {chat, `"model":"gpt-6-luna","reasoning_effort":"none"` + said + chatTool, 200, ""},
		"a choice of tools":      {chat, `"model":"gpt-4o","tool_choice":"auto"` + said + chatTool, 200, ""},
		"another choice":         {chat, `"model":"gpt-4o","tool_choice":"required"` + said + chatTool, 400, "'auto'"},
		"JSON":                   {chat, `"model":"gpt-4o","response_format":{"type":"json_object"}` + said, 200, "answer"},
		"tools of GPT-5.1":       {chat, `"model":"gpt-5.1"` + said + chatTool, 200, ""},
		"no chat completions":    {chat, `"model":"gpt-5.5-pro"` + said, 404, "v1/responses"},
		"unknown effort":         {chat, `"model":"gpt-6-luna","reasoning_effort":"much"` + said, 400, "'much'"},
		"effort of GPT-4":        {chat, `"model":"gpt-4o","reasoning_effort":"low"` + said, 400, "reasoning_effort"},
		"temperature":            {chat, `"model":"gpt-5-mini","temperature":0.2` + said, 400, "temperature"},
		"GPT-4 temperature":      {chat, `"model":"gpt-4o","temperature":0.2` + said, 200, ""},
		"unknown field":          {chat, `"model":"gpt-4o","max_output_tokens":99` + said, 400, "max_output_tokens"},
		"response":               {responses, `"model":"gpt-6-astra"` + input, 200, ""},
		"response of GPT-4":      {responses, `"model":"gpt-4o","temperature":0.2` + input, 200, ""},
		"response, sampling":     {responses, `"model":"gpt-6-sol","top_p":0.5` + input, 400, "top_p"},
		"response, no effort":    {responses, `"model":"gpt-4o","reasoning":{"effort":"low"}` + input, 400, "effort"},
		"response, field":        {responses, `"model":"gpt-6-sol","max_tokens":99` + input, 400, "max_tokens"},
		"response, limit":        {responses, `"model":"gpt-6-sol","max_output_tokens":15` + input, 400, "max_output_tokens"},
		"response, no input":     {responses, `"model":"gpt-6-sol"`, 400, "messages"},
		"response, item":         {responses, `"model":"gpt-6-sol","input":[{"type":"file_ref"}]`, 400, "file_ref"},
		"response, no result":    {responses, `"model":"gpt-6-sol","input":[{` + call + `}]`, 400, "tool messages"},
		"response, no call":      {responses, `"model":"gpt-6-sol","input":[{` + result + `}]`, 400, "a preceding"},
		"cache key":              {responses, `"model":"gpt-6-sol","prompt_cache_key":"` + key64 + `"` + input, 200, ""},
		"long cache key":         {responses, `"model":"gpt-4o","prompt_cache_key":"x` + key64 + `"` + input, 400, "long"},
		"cache options, GPT-5.5": {responses, `"model":"gpt-5.5",` + cache + `"explicit"}` + input, 400, "options"},
		"breakpoint":             {responses, `"model":"gpt-6-sol"` + marked("user"), 200, ""},
		"breakpoint of GPT-5.5":  {responses, `"model":"gpt-5.5"` + marked("user"), 400, "breakpoint"},
		"response, choice":       {responses, `"model":"gpt-6-sol","tool_choice":"auto"` + input, 200, ""},
		"response, choice none":  {responses, `"model":"gpt-6-sol","tool_choice":"none"` + input, 200, ""},
		"embeddings in base64":   {"/v1/embeddings", `"model":"m","encoding_format":"base64"` + input, 400, "'float'"},
		"response, chat tool":    {responses, `"model":"gpt-6-sol"` + input + chatTool, 400, "tools"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, answer := send(t, server, tt.path, "{"+tt.body+"}")
			if status != tt.status || !strings.Contains(string(answer), tt.mention) || !json.Valid(answer) {
				t.Errorf("%d %s, want %d and %q", status, answer, tt.status, tt.mention)
			}
		})
	}
}
