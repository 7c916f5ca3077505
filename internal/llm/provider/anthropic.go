package provider

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/throughline/throughline/internal/llm"
)

// Anthropic is what a request to Anthropic's Messages has of a call. The roles of its messages alternate and begin with
// the user. A system message after the first other one is a part of the user's next message, between two tags.
type Anthropic struct {
	System   []Block         `json:"system,omitempty" doc:"The system text as blocks."`
	Messages []Turn          `json:"messages" doc:"The messages, oldest first."`
	Tools    []AnthropicTool `json:"tools,omitempty" doc:"The tools that the model may call."`
}

// Turn is what the user or the assistant says until the other one does.
type Turn struct {
	Role    string  `json:"role" enum:"user,assistant" doc:"Whose turn it is."`
	Content []Block `json:"content" doc:"What is said, as blocks."`
}

// Block is a text. Its Type is "text". CacheControl ends a part of the call that a later call begins with, too.
type Block struct {
	Type         string        `json:"type" enum:"text" doc:"Always text."`
	Text         string        `json:"text" doc:"The text. A text of white space is written as (blank)."`
	CacheControl *CacheControl `json:"cache_control,omitempty"`
}

// CacheControl asks for what ends here to be cached. Its Type is "ephemeral".
type CacheControl struct {
	Type string `json:"type" enum:"ephemeral" doc:"Always ephemeral."`
}

// AnthropicTool is a tool of Anthropic's Messages. InputSchema is a JSON schema.
type AnthropicTool struct {
	Name        string          `json:"name" doc:"The name."`
	Description string          `json:"description" doc:"What the tool does, for the model."`
	InputSchema json.RawMessage `json:"input_schema" doc:"The JSON schema of the tool's arguments."`
}

func newAnthropic(messages []llm.Message, tools []llm.Tool) *Anthropic {
	out := &Anthropic{}
	n := leading(messages)
	for _, m := range messages[:n] {
		out.System = append(out.System, newBlock(m))
	}
	out.Messages = turns(messages[n:])
	for _, t := range tools {
		out.Tools = append(out.Tools, AnthropicTool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters})
	}
	return out
}

// opening is what the user says first if the conversation begins with the assistant.
const opening = "(The conversation so far:)"

// turns joins messages of one role that follow each other.
func turns(messages []llm.Message) []Turn {
	var out []Turn
	for _, m := range messages {
		role, block := user, newBlock(m)
		switch m.Role {
		case system:
			block.Text = openTag + "\n" + block.Text + "\n" + closeTag
		case assistant:
			role = assistant
			if len(out) == 0 {
				out = append(out, Turn{Role: user, Content: []Block{{Type: "text", Text: opening}}})
			}
		}
		if last := len(out) - 1; last >= 0 && out[last].Role == role {
			out[last].Content = append(out[last].Content, block)
			continue
		}
		out = append(out, Turn{Role: role, Content: []Block{block}})
	}
	return out
}

// The tags around a system message that is a part of a user's message.
const (
	openTag  = "<app-context>"
	closeTag = "</app-context>"
)

// tag is what begins one of the tags. A text must not contain it.
var tag = regexp.MustCompile(`(?i)<(\s*/?\s*app-context)`)

// blank replaces a text without any sign, which Anthropic refuses.
const blank = "(blank)"

func newBlock(m llm.Message) Block {
	b := Block{Type: "text", Text: tag.ReplaceAllString(m.Content, `<\$1`)}
	if strings.TrimSpace(b.Text) == "" {
		b.Text = blank
	}
	if m.Reusable {
		b.CacheControl = &CacheControl{Type: "ephemeral"}
	}
	return b
}

// Parts is a call as generateText and streamText of the AI SDK take it. Its tools are functions of the app, so it has
// none.
type Parts struct {
	System   string        `json:"system,omitempty" doc:"The system text."`
	Messages []PartMessage `json:"messages" doc:"The messages, oldest first."`
}

// PartMessage is a message of the AI SDK.
type PartMessage struct {
	Role    string `json:"role" enum:"user,assistant" doc:"Whose message it is."`
	Content []Part `json:"content" doc:"What is said, as parts."`
}

// Part is a text. Its Type is "text".
type Part struct {
	Type string `json:"type" enum:"text" doc:"Always text."`
	Text string `json:"text" doc:"The text. A text of white space is written as (blank)."`
}

// newParts writes the turns of Anthropic without what only Anthropic knows: the AI SDK warns of system messages among
// the others, and its provider may be Anthropic.
func newParts(messages []llm.Message) *Parts {
	n := leading(messages)
	out := &Parts{System: joinTexts(messages[:n])}
	for _, turn := range turns(messages[n:]) {
		m := PartMessage{Role: turn.Role}
		for _, b := range turn.Content {
			m.Content = append(m.Content, Part{Type: b.Type, Text: b.Text})
		}
		out.Messages = append(out.Messages, m)
	}
	return out
}
