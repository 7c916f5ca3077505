package offlinemodel

import (
	"encoding/json"
	"fmt"
	"strings"
)

// chatRequest is what the endpoint reads of a chat completion request; the rest (temperature, seed, …) has no effect on
// a deterministic model.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	Stream              bool            `json:"stream"`
	StreamOptions       streamOptions   `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
	Stop                stopSequences   `json:"stop"`
	ResponseFormat      *responseFormat `json:"response_format"`
	Tools               []tool          `json:"tools"`
	ToolChoice          toolChoice      `json:"tool_choice"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role       string         `json:"role"`
	Content    messageContent `json:"content"`
	ToolCalls  []toolCall     `json:"tool_calls"`
	ToolCallID string         `json:"tool_call_id"`
}

// text is the message's text, empty without one.
func (m chatMessage) text() string { return m.Content.text }

// messageContent is a text, or a list of parts of which the texts are read; absent and null are not present.
type messageContent struct {
	present bool
	text    string
}

// UnmarshalJSON reads both forms of content.
func (c *messageContent) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	c.present = true
	if json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("read message content: %w", err)
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.Text
	}
	c.text = strings.Join(texts, "\n")
	return nil
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

// toolChoice is a mode (none, auto, required) or the name of the function that must be called.
type toolChoice struct{ mode, function string }

// UnmarshalJSON reads both forms of tool_choice.
func (c *toolChoice) UnmarshalJSON(data []byte) error {
	if string(data) == "null" || json.Unmarshal(data, &c.mode) == nil {
		return nil
	}
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(data, &named); err != nil {
		return fmt.Errorf("read tool choice: %w", err)
	}
	c.function = named.Function.Name
	return nil
}

// stopSequences end an answer; on the wire they are one text or several.
type stopSequences []string

// UnmarshalJSON reads both forms of stop.
func (s *stopSequences) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		if one != "" {
			*s = []string{one}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s))
}

type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}
