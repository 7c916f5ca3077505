package prompt

import (
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
)

// ModelMessages returns the messages that a model is sent: the text of a recipe with one payload, or the system text
// and the role messages.
func (p Prompt) ModelMessages() []llm.Message {
	if p.Text != "" {
		return []llm.Message{{Role: "user", Content: p.Text}}
	}
	var out []llm.Message
	if p.System != "" {
		out = append(out, llm.Message{Role: "system", Content: p.System})
	}
	for _, m := range p.Messages {
		out = append(out, llm.Message{Role: m.Role, Content: m.Content, Files: m.Files})
	}
	if HasStablePrefix(p.Recipe) {
		markReusable(out)
	}
	return out
}

// reusableMessages is how many of the user's messages are marked as reusable. With the system text there are
// four marks. OpenAI writes as many beginnings of a prompt to its cache for one request. The next turn marks two
// of the three again, and finds the later one in the cache.
const reusableMessages = 3

// markReusable marks the system text and the last messages of the user after it, but not the current one: the next
// turn's prompt begins with them, too. A prompt without earlier messages has what changes each turn in its system text.
func markReusable(messages []llm.Message) {
	left := reusableMessages
	for i := len(messages) - 2; i > 0 && left > 0; i-- {
		if m := &messages[i]; m.Role == string(conversation.RoleUser) {
			m.Reusable, messages[0].Reusable = true, true
			left--
		}
	}
}
