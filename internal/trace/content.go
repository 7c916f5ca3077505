package trace

import (
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"

	"github.com/throughline/throughline/internal/llm"
)

// part is a part of a message, as the schemas of the conventions have it (gen-ai-input-messages.json).
type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    string          `json:"result,omitempty"`
}

// message is a message of those schemas.
type message struct {
	Role         string `json:"role"`
	Parts        []part `json:"parts"`
	FinishReason string `json:"finish_reason,omitempty"`
}

// contentOf are the texts that a model is asked with: the system's instructions at the beginning, and the messages.
func contentOf(r llm.Request) []attribute.KeyValue {
	var instructions []part
	messages := r.Messages
	for len(messages) > 0 && messages[0].Role == "system" {
		instructions = append(instructions, part{Type: "text", Content: messages[0].Content})
		messages = messages[1:]
	}
	asked := make([]message, len(messages))
	for i, m := range messages {
		asked[i] = message{Role: m.Role, Parts: partsOf(m)}
	}
	out := []attribute.KeyValue{encoded(inputMessages, asked)}
	if len(instructions) > 0 {
		out = append(out, encoded(systemInstructions, instructions))
	}
	return out
}

func partsOf(m llm.Message) []part {
	if m.ToolCallID != "" {
		return []part{{Type: "tool_call_response", ID: m.ToolCallID, Result: m.Content}}
	}
	var parts []part
	if m.Content != "" {
		parts = append(parts, part{Type: "text", Content: m.Content})
	}
	return append(parts, callsOf(m.ToolCalls)...)
}

func callsOf(calls []llm.ToolCall) []part {
	var parts []part
	for _, c := range calls {
		p := part{Type: "tool_call", ID: c.ID, Name: c.Name}
		if json.Valid([]byte(c.Arguments)) {
			p.Arguments = json.RawMessage(c.Arguments)
		}
		parts = append(parts, p)
	}
	return parts
}

// contentOfAnswer is the text of a model's answer.
func contentOfAnswer(c llm.Completion) attribute.KeyValue {
	parts := callsOf(c.ToolCalls)
	if c.Text != "" {
		parts = append([]part{{Type: "text", Content: c.Text}}, parts...)
	}
	return encoded(outputMessages, []message{{Role: "assistant", Parts: parts, FinishReason: c.FinishReason}})
}

// encoded is an attribute in JSON.
func encoded(key string, value any) attribute.KeyValue {
	text, err := json.Marshal(value)
	if err != nil {
		text = []byte("null") // these types always marshal
	}
	return attribute.String(key, string(text))
}
