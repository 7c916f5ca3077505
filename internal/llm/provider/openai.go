package provider

import (
	"encoding/json"
	"strings"

	"github.com/throughline/throughline/internal/llm"
)

// Chat is what a request to OpenAI's Chat Completions has of a call. System messages keep their places.
type Chat struct {
	Messages []ChatMessage `json:"messages" doc:"The messages, oldest first."`
	Tools    []ChatTool    `json:"tools,omitempty" doc:"The tools that the model may call."`
}

// ChatMessage is a message of Chat Completions. Its Content is a text, or a list of ChatPart if it has pictures.
type ChatMessage struct {
	Role    string `json:"role" enum:"system,user,assistant" doc:"Whose message it is."`
	Content any    `json:"content" doc:"The text, or the parts of a message with pictures."`
}

// ChatPart is a text, or a picture at an address.
type ChatPart struct {
	Type     string   `json:"type"`
	Text     string   `json:"text,omitempty"`
	ImageURL *Address `json:"image_url,omitempty"`
}

// Address is where a picture is.
type Address struct {
	URL string `json:"url"`
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
	Strict      bool            `json:"strict" doc:"True for the prompt's tools: the arguments match the schema."`
}

func newChat(messages []llm.Message, tools []llm.Tool) *Chat {
	out := &Chat{}
	for _, m := range messages {
		out.Messages = append(out.Messages, ChatMessage{Role: m.Role, Content: chatContent(m)})
	}
	out.add(tools, true)
	return out
}

func (c *Chat) add(tools []llm.Tool, strict bool) {
	for _, t := range tools {
		c.Tools = append(c.Tools, ChatTool{Type: "function", Function: newFunction(t, strict)})
	}
}

// chatContent writes a text with its pictures. Chat Completions fetches no other files: their texts stand for them.
func chatContent(m llm.Message) any {
	parts := []ChatPart{{Type: "text", Text: m.Content}}
	for _, f := range m.Files {
		if f.IsImage() {
			parts = append(parts, ChatPart{Type: "image_url", ImageURL: &Address{f.URL}})
		}
	}
	if len(parts) == 1 {
		return m.Content
	}
	return parts
}

func newFunction(t llm.Tool, strict bool) Function {
	return Function{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: strict}
}

// Responses is what a request to OpenAI's Responses has of a call. Instructions are the system messages at the
// beginning. Later ones are the developer's.
type Responses struct {
	Instructions string            `json:"instructions,omitempty" doc:"The system text."`
	Input        []ResponseMessage `json:"input" doc:"The messages, oldest first. The last one is the user's."`
	Tools        []ResponseTool    `json:"tools,omitempty" doc:"The tools that the model may call."`
}

// ResponseMessage is a message of Responses. Its Content is a text, or a list of ResponsePart if the user sends files.
type ResponseMessage struct {
	Role    string `json:"role" enum:"developer,user,assistant" doc:"Whose message it is."`
	Content any    `json:"content" doc:"The text, or the parts of a message with files."`
}

// ResponsePart is a text, or a file at an address.
type ResponsePart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
	FileURL  string `json:"file_url,omitempty"`
}

// ResponseTool is a tool of Responses. Its Type is "function".
type ResponseTool struct {
	Type string `json:"type" enum:"function" doc:"Always function."`
	Function
}

func newResponses(messages []llm.Message, tools []llm.Tool) *Responses {
	n := leading(messages)
	out := &Responses{Instructions: joinTexts(messages[:n])}
	for _, m := range messages[n:] {
		role := m.Role
		if role == system {
			role = developer
		}
		out.Input = append(out.Input, ResponseMessage{Role: role, Content: responseContent(m)})
	}
	out.add(tools, true)
	return out
}

func (r *Responses) add(tools []llm.Tool, strict bool) {
	for _, t := range tools {
		r.Tools = append(r.Tools, ResponseTool{Type: "function", Function: newFunction(t, strict)})
	}
}

// responseContent writes a text with its files.
func responseContent(m llm.Message) any {
	if len(m.Files) == 0 {
		return m.Content
	}
	parts := []ResponsePart{{Type: "input_text", Text: m.Content}}
	for _, f := range m.Files {
		if f.IsImage() {
			parts = append(parts, ResponsePart{Type: "input_image", ImageURL: f.URL, Detail: "auto"})
		} else {
			parts = append(parts, ResponsePart{Type: "input_file", FileURL: f.URL})
		}
	}
	return parts
}

// joinTexts writes a blank line between the contents of messages.
func joinTexts(messages []llm.Message) string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.Content
	}
	return strings.Join(texts, "\n\n")
}
