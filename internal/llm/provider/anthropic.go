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
	System   []TextBlock     `json:"system,omitempty" doc:"The system text as blocks."`
	Messages []Turn          `json:"messages" doc:"The messages, oldest first."`
	Tools    []AnthropicTool `json:"tools,omitempty" doc:"The tools that the model may call."`
}

// Turn is what the user or the assistant says until the other one does.
type Turn struct {
	Role    string  `json:"role" enum:"user,assistant" doc:"Whose turn it is."`
	Content []Block `json:"content" doc:"What is said, as blocks."`
}

// TextBlock is a text. Its Type is "text".
type TextBlock struct {
	Type         string        `json:"type" enum:"text" doc:"Always text."`
	Text         string        `json:"text" doc:"The text. A text of white space is written as (blank)."`
	CacheControl *CacheControl `json:"cache_control,omitempty"`

	files []llm.File // of the message
}

// Block is a text, a picture, or a PDF. CacheControl ends a part of the call that a later call begins with, too.
type Block struct {
	Type         string        `json:"type" enum:"text,image,document" doc:"What the block is."`
	Text         string        `json:"text,omitempty" doc:"The text. A text of white space is written as (blank)."`
	Source       *Source       `json:"source,omitempty" doc:"Where a picture or a PDF is."`
	CacheControl *CacheControl `json:"cache_control,omitempty"`
}

// Source is the address of a file. Its Type is "url".
type Source struct {
	Type string `json:"type" enum:"url" doc:"Always url."`
	URL  string `json:"url" doc:"The address of the file."`
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
	for _, t := range turns(messages[n:]) {
		turn := Turn{Role: t.role}
		for _, s := range t.said {
			text := Block{Type: s.Type, Text: s.Text, CacheControl: s.CacheControl}
			turn.Content = append(append(turn.Content, text), fileBlocks(s.files)...)
		}
		out.Messages = append(out.Messages, turn)
	}
	out.add(tools)
	return out
}

func (a *Anthropic) add(tools []llm.Tool) {
	for _, t := range tools {
		a.Tools = append(a.Tools, AnthropicTool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters})
	}
}

// opening is what the user says first if the conversation begins with the assistant.
const opening = "(The conversation so far:)"

// fileBlocks returns the blocks of the files that Anthropic fetches. The texts of others stand for them.
func fileBlocks(files []llm.File) (out []Block) {
	for _, f := range files {
		switch {
		case f.IsImage():
			out = append(out, Block{Type: "image", Source: &Source{"url", f.URL}})
		case f.IsPDF():
			out = append(out, Block{Type: "document", Source: &Source{"url", f.URL}})
		}
	}
	return out
}

// turn is what one says until the other one does, statement by statement.
type turn struct {
	role string
	said []TextBlock
}

// turns joins messages of one role that follow each other.
func turns(messages []llm.Message) []turn {
	var out []turn
	for _, m := range messages {
		role, block := user, newBlock(m)
		switch m.Role {
		case system:
			block.Text = openTag + "\n" + block.Text + "\n" + closeTag
		case assistant:
			role = assistant
			if len(out) == 0 {
				out = append(out, turn{user, []TextBlock{{Type: "text", Text: opening}}})
			}
		}
		if last := len(out) - 1; last >= 0 && out[last].role == role {
			out[last].said = append(out[last].said, block)
			continue
		}
		out = append(out, turn{role, []TextBlock{block}})
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

func newBlock(m llm.Message) TextBlock {
	b := TextBlock{Type: "text", Text: tag.ReplaceAllString(m.Content, `<\$1`), files: m.Files}
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

// Part is a text, or a file at an address.
type Part struct {
	Type      string `json:"type" enum:"text,file" doc:"What the part is."`
	Text      string `json:"text,omitempty" doc:"The text. A text of white space is written as (blank)."`
	Data      string `json:"data,omitempty" doc:"The address of the file."`
	MediaType string `json:"mediaType,omitempty" doc:"Of a file, as in image/png."`
}

// newParts writes the turns of Anthropic without what only Anthropic knows: the AI SDK warns of system messages among
// the others, and its provider may be Anthropic.
func newParts(messages []llm.Message) *Parts {
	n := leading(messages)
	out := &Parts{System: joinTexts(messages[:n])}
	for _, t := range turns(messages[n:]) {
		m := PartMessage{Role: t.role}
		for _, s := range t.said {
			m.Content = append(m.Content, Part{Type: "text", Text: s.Text})
			for _, f := range s.files {
				m.Content = append(m.Content, Part{Type: "file", Data: f.URL, MediaType: f.MediaType})
			}
		}
		out.Messages = append(out.Messages, m)
	}
	return out
}
