package openaiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

// responseRequest is what the endpoint reads of a request of the Responses API.
type responseRequest struct {
	settings
	Input           responseInput `json:"input"`
	Instructions    string        `json:"instructions"`
	MaxOutputTokens *int          `json:"max_output_tokens"`
	Reasoning       struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
	Store  *bool          `json:"store"`
	Stream bool           `json:"stream"`
	Text   responseText   `json:"text"`
	Tools  []responseTool `json:"tools"`
}

type responseText struct {
	Format *struct {
		Type string `json:"type"`
		jsonSchema
	} `json:"format"`
}

type responseTool struct {
	Type   string `json:"type"`
	Strict *bool  `json:"strict"`
	function
}

// responseInput is a list of items, or one text of the user.
type responseInput []inputItem

// inputItem is a message, a call of a tool, or the result of one.
type inputItem struct {
	Type      string         `json:"type"`
	Role      string         `json:"role"`
	Content   messageContent `json:"content"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Arguments string         `json:"arguments"`
	Output    messageContent `json:"output"`
}

// UnmarshalJSON reads both forms of input.
func (in *responseInput) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*in = responseInput{{Role: "user", Content: messageContent{present: true, text: text}}}
		return nil
	}
	return json.Unmarshal(data, (*[]inputItem)(in))
}

// responseFields are the names that a request of the Responses API may have.
var responseFields = strings.Fields(`background context_management conversation include input instructions
	max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt
	prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream
	stream_options temperature text tool_choice tools top_logprobs top_p truncation user`)

// minOutputTokens is the least limit that the service accepts for a response.
const minOutputTokens = 16

func (s *server) responses(w http.ResponseWriter, r *http.Request) error {
	var request responseRequest
	if err := readStrict(r, &request, responseFields, func(name string) *apiError {
		e := badRequest(name, "Unknown parameter: '%s'.", name)
		e.Code = "unknown_parameter"
		return e
	}); err != nil {
		return err
	}
	chat, err := request.chat()
	if err != nil {
		return err
	}
	tier, err := request.tier()
	if err != nil {
		return err
	}
	a := s.answer(chat)
	head := map[string]any{
		"id": "resp_offline", "object": "response", "created_at": time.Now().Unix(), "status": "in_progress", "error": nil,
		"incomplete_details": nil, "max_output_tokens": request.MaxOutputTokens, "model": s.name, "output": []any{},
		"previous_response_id": nil, "reasoning": map[string]any{"effort": chat.effort, "summary": nil},
		"store": request.Store == nil || *request.Store, "usage": nil, "service_tier": tier,
	}
	if request.Stream {
		streamResponse(w, head, a)
		return nil
	}
	return writeJSON(w, http.StatusOK, a.finishResponse(head))
}

// chat is the request as a chat completion, checked as the service checks it.
func (r *responseRequest) chat() (*chatRequest, error) {
	out := &chatRequest{settings: r.settings, MaxCompletionTokens: r.MaxOutputTokens}
	var err error
	if out.effort, err = r.effort(r.Reasoning.Effort, "reasoning.effort"); err != nil {
		return nil, err
	}
	if r.MaxOutputTokens != nil && *r.MaxOutputTokens < minOutputTokens {
		return nil, badRequest("max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected "+
			"a value >= %d.", minOutputTokens)
	}
	if out.Messages, err = r.messages(); err != nil {
		return nil, err
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{Type: t.Type, Function: t.function})
	}
	if f := r.Text.Format; f != nil {
		out.ResponseFormat = &responseFormat{Type: f.Type, JSONSchema: f.jsonSchema}
	}
	return out, out.validate()
}

// messages are the input's items as messages.
func (r *responseRequest) messages() ([]chatMessage, error) {
	var out []chatMessage
	if r.Instructions != "" {
		out = append(out, chatMessage{Role: "system", Content: messageContent{present: true, text: r.Instructions}})
	}
	for i, item := range r.Input {
		switch item.Type {
		case "", "message":
			out = append(out, chatMessage{Role: item.Role, Content: item.Content})
		case "function_call":
			call := toolCall{ID: item.CallID, Type: "function", Function: functionCall{item.Name, item.Arguments}}
			if n := len(out); n == 0 || len(out[n-1].ToolCalls) == 0 {
				out = append(out, chatMessage{Role: "assistant"})
			}
			last := &out[len(out)-1]
			last.ToolCalls = append(last.ToolCalls, call)
		case "function_call_output":
			out = append(out, chatMessage{Role: "tool", ToolCallID: item.CallID, Content: item.Output})
		case "reasoning": // hidden, so it changes nothing
		default:
			return nil, badRequest(fmt.Sprintf("input[%d].type", i), "Invalid value: '%s'.", item.Type)
		}
	}
	return out, nil
}

// output is the answer as the items of a response.
func (a answer) output() []map[string]any {
	var items []map[string]any
	if a.usage.Details.ReasoningTokens > 0 {
		items = append(items, map[string]any{"type": "reasoning", "id": "rs_offline", "summary": []any{}})
	}
	if a.call != nil {
		return append(items, map[string]any{
			"type": "function_call", "id": "fc_offline", "status": "completed",
			"call_id": a.call.ID, "name": a.call.Function.Name, "arguments": a.call.Function.Arguments,
		})
	}
	if a.text == "" {
		return items
	}
	return append(items, map[string]any{
		"type": "message", "id": "msg_offline", "status": "completed", "role": "assistant",
		"content": []any{map[string]any{"type": "output_text", "text": a.text, "annotations": []any{}}},
	})
}

// finishResponse completes the response's fields.
func (a answer) finishResponse(head map[string]any) map[string]any {
	head["status"], head["output"] = "completed", a.output()
	if a.finish == finishLength {
		head["status"], head["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	head["usage"] = map[string]any{
		"input_tokens": a.usage.PromptTokens, "output_tokens": a.usage.CompletionTokens,
		"total_tokens":          a.usage.TotalTokens,
		"input_tokens_details":  map[string]any{"cached_tokens": a.usage.PromptDetails.CachedTokens},
		"output_tokens_details": map[string]any{"reasoning_tokens": a.usage.Details.ReasoningTokens},
	}
	return head
}

// streamResponse sends the answer as those events of a response that bring something: its beginning, its items with
// their texts in small pieces, and its end.
func streamResponse(w http.ResponseWriter, head map[string]any, a answer) {
	startEvents(w)
	sequence := 0
	send := func(kind string, fields map[string]any) {
		fields["type"], fields["sequence_number"] = kind, sequence
		sequence++
		writeEvent(w, "event: "+kind+"\n", mustMarshal(fields))
	}
	send("response.created", map[string]any{"response": head})
	for i, item := range a.output() {
		at := map[string]any{"output_index": i, "item": item}
		send("response.output_item.added", maps.Clone(at))
		text, kind := "", "response.output_text.delta"
		switch item["type"] {
		case "message":
			text = a.text
		case "function_call":
			text, kind = a.call.Function.Arguments, "response.function_call_arguments.delta"
		}
		for _, piece := range splitPieces(text, wordsPerChunk) {
			send(kind, map[string]any{"output_index": i, "content_index": 0, "item_id": item["id"], "delta": piece})
		}
		send("response.output_item.done", at)
	}
	a.finishResponse(head)
	send(fmt.Sprint("response.", head["status"]), map[string]any{"response": head})
}
