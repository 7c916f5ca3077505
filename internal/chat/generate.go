package chat

import (
	"context"

	"github.com/throughline/throughline/internal/llm"
)

// generate streams the model's answer, with at most one round of the search_conversations tool.
func (g *generation) generate(ctx context.Context, emit func(string) error) (llm.Completion, error) {
	request := llm.Request{
		Model: g.prompt.Model, Messages: g.messages(), Tools: g.prompt.Tools, User: llm.EndUser(string(g.user)),
	}
	completion, err := g.Model.Stream(ctx, request, emit)
	if err != nil || len(completion.ToolCalls) == 0 || g.text.Len() > 0 {
		return completion, err
	}
	request.Messages = append(request.Messages, llm.Message{Role: "assistant", ToolCalls: completion.ToolCalls})
	for _, call := range completion.ToolCalls {
		result := llm.Message{Role: "tool", ToolCallID: call.ID, Content: g.search(ctx, call)}
		request.Messages = append(request.Messages, result)
	}
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
	return out
}
