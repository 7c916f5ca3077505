// Package provider writes the call of a model in the form that a provider's interface takes, so that an app can pass it
// to the provider's library as it is. A field without content is absent, because providers refuse empty lists.
package provider

import (
	"slices"

	"github.com/throughline/throughline/internal/llm"
)

// The formats of a call.
const (
	// FormatChat is OpenAI's Chat Completions, which most servers of models speak.
	FormatChat = "openai-chat"
	// FormatResponses is OpenAI's Responses.
	FormatResponses = "openai-responses"
	// FormatAnthropic is Anthropic's Messages.
	FormatAnthropic = "anthropic"
	// FormatConverse is Converse of Amazon Bedrock.
	FormatConverse = "bedrock-converse"
	// FormatParts are the messages of the AI SDK.
	FormatParts = "parts"
)

// Formats returns the names of all formats.
func Formats() []string {
	return []string{FormatChat, FormatResponses, FormatAnthropic, FormatConverse, FormatParts}
}

const (
	system    = "system"
	developer = "developer"
	user      = "user"
	assistant = "assistant"
)

// Forms has a call in one format. The others are nil.
type Forms struct {
	OpenAIChat      *Chat      `json:"openaiChat,omitempty"`
	OpenAIResponses *Responses `json:"openaiResponses,omitempty"`
	Anthropic       *Anthropic `json:"anthropic,omitempty"`
	BedrockConverse *Converse  `json:"bedrockConverse,omitempty"`
	Parts           *Parts     `json:"parts,omitempty"`
}

// New writes a call in a format. Without a format, or with an unknown one, it returns no form. The messages may begin
// with system messages and have others anywhere. The last one is the user's.
func New(format string, messages []llm.Message, tools []llm.Tool) Forms {
	switch format {
	case FormatChat:
		return Forms{OpenAIChat: newChat(messages, tools)}
	case FormatResponses:
		return Forms{OpenAIResponses: newResponses(messages, tools)}
	case FormatAnthropic:
		return Forms{Anthropic: newAnthropic(messages, tools)}
	case FormatConverse:
		return Forms{BedrockConverse: newConverse(messages, tools)}
	case FormatParts:
		return Forms{Parts: newParts(messages)}
	}
	return Forms{}
}

// AddTools adds the app's own tools behind those of the call. Their schemas may be any, so they are not strict. Parts
// has no tools.
func (f Forms) AddTools(tools []llm.Tool) {
	switch {
	case f.OpenAIChat != nil:
		f.OpenAIChat.add(tools, false)
	case f.OpenAIResponses != nil:
		f.OpenAIResponses.add(tools, false)
	case f.Anthropic != nil:
		f.Anthropic.add(tools)
	case f.BedrockConverse != nil:
		f.BedrockConverse.add(tools)
	}
}

// leading returns how many messages before the first of another role are system messages.
func leading(messages []llm.Message) int {
	n := slices.IndexFunc(messages, func(m llm.Message) bool { return m.Role != system })
	if n < 0 {
		return len(messages)
	}
	return n
}
