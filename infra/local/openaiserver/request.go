package openaiserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// chatRequest is what the endpoint reads of a chat completion request. Other fields (seed, …) do not change a
// deterministic model's answer.
type chatRequest struct {
	settings
	ReasoningEffort     string          `json:"reasoning_effort"`
	Messages            []chatMessage   `json:"messages"`
	Stream              bool            `json:"stream"`
	StreamOptions       streamOptions   `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	ResponseFormat      *responseFormat `json:"response_format"`
	Tools               []tool          `json:"tools"`

	effort string // the model's, for this request
}

// chatFields are the names that a chat completion request may have.
var chatFields = strings.Fields(`audio frequency_penalty function_call functions logit_bias logprobs
	max_completion_tokens max_tokens messages metadata modalities model n parallel_tool_calls prediction presence_penalty
	prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed
	service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity
	web_search_options`)

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role       string         `json:"role"`
	Content    messageContent `json:"content"`
	ToolCalls  []toolCall     `json:"tool_calls"`
	ToolCallID string         `json:"tool_call_id"`
}

// messageContent is a text, or the texts of a list of parts. It is not present where it is absent or null.
type messageContent struct {
	present bool
	text    string
	// breakpoint says that a part ends what may be cached. It counts for the whole message.
	breakpoint bool
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
		Text       string        `json:"text"`
		Breakpoint *cacheOptions `json:"prompt_cache_breakpoint"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("read message content: %w", err)
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.Text
		c.breakpoint = c.breakpoint || part.Breakpoint != nil
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

type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

var roles = []string{"system", "developer", "user", "assistant", "tool"}

// validate refuses what the service refuses and what this model cannot do.
func (r *chatRequest) validate() error {
	switch {
	case r.Model == "":
		return badRequest("model", "you must provide a model parameter")
	case len(r.Messages) == 0:
		return badRequest("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	case r.limit() < 1:
		return badRequest("max_completion_tokens", "Invalid 'max_completion_tokens': expected a value of at least 1.")
	}
	return cmp.Or(r.validateMessages(), r.validateTools(), r.validateCache(), r.validateFormat())
}

// limit is the greatest number of tokens that the answer may have.
func (r *chatRequest) limit() int {
	if limit := cmp.Or(r.MaxCompletionTokens, r.MaxTokens); limit != nil {
		return *limit
	}
	return math.MaxInt
}

// validateMessages checks roles and contents, and that tool calls and tool messages answer each other.
func (r *chatRequest) validateMessages() error {
	var open []string // ids of calls without their result yet
	for i, m := range r.Messages {
		switch {
		case !slices.Contains(roles, m.Role):
			return badRequest("messages", "Invalid value: '%s'. Supported values are: '%s'. (messages[%d].role)",
				m.Role, strings.Join(roles, "', '"), i)
		case !m.Content.present && (m.Role != "assistant" || len(m.ToolCalls) == 0):
			return badRequest("messages", "Invalid value for 'content': expected a string, got null. (messages[%d])", i)
		case m.Role == "tool" && !slices.Contains(open, m.ToolCallID):
			return badRequest("messages", "Invalid parameter: messages with role 'tool' must be a response to a preceding "+
				"message with 'tool_calls'. (messages[%d])", i)
		case m.Role != "tool" && len(open) > 0:
			return unanswered(open)
		}
		open = slices.DeleteFunc(open, func(id string) bool { return id == m.ToolCallID })
		for _, call := range m.ToolCalls {
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func unanswered(ids []string) error {
	return badRequest("messages", "An assistant message with 'tool_calls' must be followed by tool messages "+
		"responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
		strings.Join(ids, ", "))
}

func (r *chatRequest) validateTools() error {
	for i, t := range r.Tools {
		if t.Type != "function" || t.Function.Name == "" {
			return badRequest("tools", "Invalid tool: only functions with a name are supported. (tools[%d])", i)
		}
	}
	if c := r.ToolChoice; c != nil && c != "auto" && c != noTool {
		return badRequest("tool_choice", "The local model chooses its tools itself: send 'auto' or 'none', or no "+
			"'tool_choice'.")
	}
	return nil
}

// tool returns the offered tool of a name, nil when it is not offered.
func (r *chatRequest) tool(name string) *tool {
	for i := range r.Tools {
		if r.Tools[i].Function.Name == name {
			return &r.Tools[i]
		}
	}
	return nil
}

func (r *chatRequest) validateFormat() error {
	if r.ResponseFormat == nil || r.ResponseFormat.Type != "json_schema" {
		return nil
	}
	return checkFormat(r.ResponseFormat.JSONSchema)
}
