package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/llm"
)

// newResponse is a request of the Responses API. The service stores nothing of it, so each request has the whole
// conversation.
func newResponse(p plan, r llm.Request) openai.CreateResponseRequest {
	stored := false
	out := openai.CreateResponseRequest{
		Model: p.model, Input: inputItems(r.Messages, p.breakpoints), MaxOutputTokens: p.tokens, Store: &stored,
		SafetyIdentifier: r.User, PromptCacheKey: r.CacheKey, ServiceTier: p.tier,
	}
	if p.breakpoints {
		out.PromptCacheOptions = &openai.ResponsePromptCacheOptions{Mode: explicit}
	}
	if p.effort != "" {
		out.Reasoning = &openai.ResponseReasoning{Effort: p.effort}
	}
	for _, t := range r.Tools {
		// Without strict the service would require every property of the tool's parameters.
		out.Tools = append(out.Tools, openai.ResponseTool{Type: openai.ToolTypeFunction, Parameters: map[string]any{
			"name": t.Name, "description": t.Description, "parameters": t.Parameters, "strict": false,
		}})
	}
	if r.MustAnswer && len(r.Tools) > 0 {
		out.ToolChoice = noTool
	}
	if r.Schema != nil {
		out.Text = &openai.ResponseTextConfig{Format: &openai.ResponseTextFormat{
			Type: "json_schema", Name: r.Schema.Name, Schema: r.Schema.JSON, Strict: true,
		}}
	}
	return out
}

// explicit is the mode in which the service caches a prompt as far as its breakpoints, and nothing else. By itself it
// would cache each prompt to its end, which no other prompt begins with, and writing a token to the cache costs a
// quarter more than reading it as input.
const explicit = "explicit"

// functionCall is a call of a tool as an item of the input. Without the item's id, the service does not look for the
// reasoning that led to it, which was not stored.
type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// inputItems are messages as the input of a response: calls of tools and their results are items of their own. With
// breakpoints, the service may reuse a prompt up to the end of each reusable message. It takes no breakpoint in what
// the assistant said.
func inputItems(messages []llm.Message, breakpoints bool) []any {
	items := make([]any, 0, len(messages))
	for _, m := range messages {
		if m.ToolCallID != "" {
			items = append(items, openai.ResponseFunctionCallOutput{
				Type: "function_call_output", CallID: m.ToolCallID, Output: m.Content,
			})
			continue
		}
		if m.Content != "" || len(m.ToolCalls) == 0 {
			item := openai.ResponseInputMessage{Type: "message", Role: m.Role, Content: m.Content}
			if breakpoints && m.Reusable && m.Role != "assistant" {
				item.Content = []openai.ResponseInputText{{
					Type: "input_text", Text: m.Content,
					PromptCacheBreakpoint: &openai.ResponsePromptCacheBreakpoint{Mode: explicit},
				}}
			}
			items = append(items, item)
		}
		for _, call := range m.ToolCalls {
			items = append(items, functionCall{"function_call", call.ID, call.Name, call.Arguments})
		}
	}
	return items
}

// responseCompletion is the answer in a response. A failed response is an error, although the service sends it with
// the status 200.
func responseCompletion(answer openai.CreateResponseResponse) (llm.Completion, error) {
	if answer.Status == openai.ResponseStatusFailed {
		return llm.Completion{}, responseError(answer.Error)
	}
	var got received
	for _, raw := range answer.Output {
		item, err := outputItem(raw)
		if err != nil {
			return llm.Completion{}, err
		}
		if item.Type == "function_call" {
			got.out.ToolCalls = append(got.out.ToolCalls, toolCall(item))
		}
		for _, part := range item.Content {
			got.text.WriteString(part.Text + part.Refusal)
			got.out.Refused = got.out.Refused || part.Refusal != ""
		}
	}
	if got.finish(answer); got.out.FinishReason == "" {
		return llm.Completion{}, fmt.Errorf("response with the status %q", answer.Status)
	}
	return got.completion(), nil
}

// outputItem reads an item that the library leaves as plain JSON.
func outputItem(raw any) (item openai.ResponseOutputItem, err error) {
	fields, ok := raw.(map[string]any)
	if !ok || fields["type"] != "message" && fields["type"] != "function_call" {
		return item, nil // reasoning, and kinds of items that are to come
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return item, err
	}
	return item, json.Unmarshal(data, &item)
}

func toolCall(item openai.ResponseOutputItem) llm.ToolCall {
	return llm.ToolCall{ID: item.CallID, Name: item.Name, Arguments: item.Arguments}
}

// finish takes what a finished response says of itself: its model, its usage, and why it ended.
func (r *received) finish(answer openai.CreateResponseResponse) {
	r.out.Model = cmp.Or(answer.Model, r.out.Model)
	if u := answer.Usage; u != nil {
		r.out.Usage = llm.Usage{
			PromptTokens: u.InputTokens, CompletionTokens: u.OutputTokens, TotalTokens: u.TotalTokens,
		}
		if u.InputTokensDetails != nil {
			r.out.Usage.CachedTokens = u.InputTokensDetails.CachedTokens
		}
	}
	switch {
	case answer.Status == openai.ResponseStatusIncomplete && answer.IncompleteDetails != nil:
		r.out.FinishReason = cmp.Or(finishReasons[answer.IncompleteDetails.Reason], answer.IncompleteDetails.Reason)
	case answer.Status == openai.ResponseStatusCompleted && len(r.out.ToolCalls) > 0:
		r.out.FinishReason = llm.FinishToolCalls
	case answer.Status == openai.ResponseStatusCompleted:
		r.out.FinishReason = llm.FinishStop
	}
}

// finishReasons are the reasons of an incomplete response, in the words of chat completions.
var finishReasons = map[string]string{"max_output_tokens": llm.FinishLength, "content_filter": llm.FinishFilter}

// responseError is the error of a failed response.
func responseError(e *openai.ResponseError) error {
	if e == nil {
		return serviceError{}
	}
	return serviceError{code: e.Code}
}

// addEvent adds an event of a streamed response and returns the text in it.
func (r *received) addEvent(event openai.ResponseStreamEvent) (delta string, err error) {
	switch event.Type {
	case openai.ResponseStreamEventOutputTextDelta, openai.ResponseStreamEventRefusalDelta:
		r.out.Refused = r.out.Refused || event.Type == openai.ResponseStreamEventRefusalDelta
		return event.Delta, nil
	case openai.ResponseStreamEventOutputItemDone:
		if event.Item != nil && event.Item.Type == "function_call" {
			r.out.ToolCalls = append(r.out.ToolCalls, toolCall(*event.Item))
		}
	case openai.ResponseStreamEventCompleted, openai.ResponseStreamEventIncomplete:
		if event.Response == nil {
			return "", errNoFinishReason
		}
		if r.finish(*event.Response); r.out.FinishReason == "" {
			return "", errNoFinishReason
		}
		return "", io.EOF
	case openai.ResponseStreamEventFailed:
		if event.Response == nil {
			return "", serviceError{}
		}
		r.finish(*event.Response)
		return "", responseError(event.Response.Error)
	case openai.ResponseStreamEventError:
		if event.Error != nil {
			return "", responseError(event.Error)
		}
		return "", serviceError{code: event.Code}
	}
	return "", nil
}
