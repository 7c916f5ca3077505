package provider

import (
	"encoding/json"
	"strings"

	"github.com/throughline/throughline/internal/llm"
)

// Chat is what a request to OpenAI's Chat Completions has of a call. System messages keep their places.
type Chat struct {
	Messages []Message  `json:"messages" doc:"The messages, oldest first."`
	Tools    []ChatTool `json:"tools,omitempty" doc:"The tools that the model may call."`
}

// ChatTool is a tool of Chat Completions. Its Type is "function".
type ChatTool struct {
	Type     string   `json:"type" enum:"function" doc:"Always function."`
	Function Function `json:"function"`
}

// Function is what a tool does. Strict says that the model's arguments always match Parameters, which is a JSON schema.
type Function struct {
	Name        string          `json:"name" doc:"The name."`
	Description string          `json:"description" doc:"What the tool does, for the model."`
	Parameters  json.RawMessage `json:"parameters" doc:"The JSON schema of the tool's arguments."`
	Strict      bool            `json:"strict" doc:"Always true: the model's arguments match the schema."`
}

func newChat(messages []llm.Message, tools []llm.Tool) *Chat {
	out := &Chat{Messages: newMessages(messages, system)}
	for _, t := range tools {
		out.Tools = append(out.Tools, ChatTool{Type: "function", Function: newFunction(t)})
	}
	return out
}

func newFunction(t llm.Tool) Function {
	return Function{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: true}
}

// Responses is what a request to OpenAI's Responses has of a call. Instructions are the system messages at the
// beginning. Later ones are the developer's.
type Responses struct {
	Instructions string         `json:"instructions,omitempty" doc:"The system text."`
	Input        []Message      `json:"input" doc:"The messages, oldest first. The last one is the user's."`
	Tools        []ResponseTool `json:"tools,omitempty" doc:"The tools that the model may call."`
}

// ResponseTool is a tool of Responses. Its Type is "function".
type ResponseTool struct {
	Type string `json:"type" enum:"function" doc:"Always function."`
	Function
}

func newResponses(messages []llm.Message, tools []llm.Tool) *Responses {
	n := leading(messages)
	out := &Responses{Instructions: joinTexts(messages[:n]), Input: newMessages(messages[n:], developer)}
	for _, t := range tools {
		out.Tools = append(out.Tools, ResponseTool{Type: "function", Function: newFunction(t)})
	}
	return out
}

// joinTexts writes a blank line between the contents of messages.
func joinTexts(messages []llm.Message) string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.Content
	}
	return strings.Join(texts, "\n\n")
}
