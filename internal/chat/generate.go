package chat

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt"
)

// generate streams the model's answer, with at most one round of the search_conversations tool.
func (g *generation) generate(ctx context.Context, emit func(string) error) (llm.Completion, error) {
	request := llm.Request{
		Model: g.prompt.Model, Messages: g.messages(), Tools: g.prompt.Tools, User: llm.EndUser(string(g.user)),
		CacheKey: llm.SessionKey(string(g.user), g.turn.Session.ID),
	}
	completion, err := g.Model.Stream(ctx, request, emit)
	if err != nil || len(completion.ToolCalls) == 0 || g.text.Len() > 0 {
		return completion, err
	}
	request.Messages = append(request.Messages, g.searchRound(ctx, completion.ToolCalls)...)
	request.Tools = nil
	second, err := g.Model.Stream(ctx, request, emit)
	second.Usage = second.Usage.Add(completion.Usage)
	return second, err
}

// messages returns the prompt in the form of the model: the text of a recipe with one payload, or the system text and
// the role messages.
func (g *generation) messages() []llm.Message {
	if g.prompt.Text != "" {
		return []llm.Message{{Role: "user", Content: g.prompt.Text}}
	}
	var out []llm.Message
	if g.prompt.System != "" {
		out = append(out, llm.Message{Role: "system", Content: g.prompt.System})
	}
	for _, m := range g.prompt.Messages {
		out = append(out, llm.Message{Role: m.Role, Content: m.Content})
	}
	if prompt.HasStablePrefix(g.prompt.Recipe) {
		markReusable(out)
	}
	return out
}

// reusableMessages is how many of the user's messages are marked as reusable. With the system text there are
// four marks. OpenAI writes as many beginnings of a prompt to its cache for one request. The next turn marks two
// of the three again, and finds the later one in the cache.
const reusableMessages = 3

// markReusable marks the system text and the last messages of the user behind it, but not the current one: the next
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
