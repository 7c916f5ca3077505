package provider

import (
	"encoding/json"

	"github.com/throughline/throughline/internal/llm"
)

// Converse is what a request to Converse or ConverseStream of Amazon Bedrock has of a call. The roles of its messages
// alternate and begin with the user, as Anthropic's do.
type Converse struct {
	System     []ConverseBlock `json:"system,omitempty" doc:"The system text as blocks."`
	Messages   []ConverseTurn  `json:"messages" doc:"The messages, oldest first."`
	ToolConfig *ToolConfig     `json:"toolConfig,omitempty"`
}

// ConverseTurn is what the user or the assistant says until the other one does.
type ConverseTurn struct {
	Role    string          `json:"role" enum:"user,assistant" doc:"Whose turn it is."`
	Content []ConverseBlock `json:"content" doc:"What is said, as blocks."`
}

// ConverseBlock is a text, or a point up to which a later call begins with the same text. It has one of the two.
type ConverseBlock struct {
	Text       string      `json:"text,omitempty" doc:"The text. A text of white space is written as (blank)."`
	CachePoint *CachePoint `json:"cachePoint,omitempty"`
}

// CachePoint asks for what ends here to be cached. Its Type is "default".
type CachePoint struct {
	Type string `json:"type" enum:"default" doc:"Always default."`
}

// ToolConfig has the tools that the model may call.
type ToolConfig struct {
	Tools []ConverseTool `json:"tools" doc:"The tools that the model may call."`
}

// ConverseTool is a tool of Converse.
type ConverseTool struct {
	ToolSpec ToolSpec `json:"toolSpec"`
}

// ToolSpec is what a tool does.
type ToolSpec struct {
	Name        string    `json:"name" doc:"The name."`
	Description string    `json:"description" doc:"What the tool does, for the model."`
	InputSchema ToolInput `json:"inputSchema"`
}

// ToolInput has the JSON schema of a tool's arguments.
type ToolInput struct {
	JSON json.RawMessage `json:"json" doc:"The JSON schema of the tool's arguments."`
}

// newConverse writes Anthropic's form in Bedrock's words. Bedrock fetches nothing from the web: files have their
// texts only.
func newConverse(messages []llm.Message, tools []llm.Tool) *Converse {
	n := leading(messages)
	out := &Converse{}
	for _, m := range messages[:n] {
		out.System = append(out.System, converseBlocks(newBlock(m))...)
	}
	for _, t := range turns(messages[n:]) {
		turn := ConverseTurn{Role: t.role}
		for _, s := range t.said {
			turn.Content = append(turn.Content, converseBlocks(s)...)
		}
		out.Messages = append(out.Messages, turn)
	}
	out.add(tools)
	return out
}

func (c *Converse) add(tools []llm.Tool) {
	for _, t := range tools {
		if c.ToolConfig == nil {
			c.ToolConfig = &ToolConfig{}
		}
		spec := ToolSpec{Name: t.Name, Description: t.Description, InputSchema: ToolInput{t.Parameters}}
		c.ToolConfig.Tools = append(c.ToolConfig.Tools, ConverseTool{spec})
	}
}

// converseBlocks writes a cache point after a block that Anthropic's cache control ends.
func converseBlocks(b TextBlock) []ConverseBlock {
	out := []ConverseBlock{{Text: b.Text}}
	if b.CacheControl != nil {
		out = append(out, ConverseBlock{CachePoint: &CachePoint{Type: "default"}})
	}
	return out
}
