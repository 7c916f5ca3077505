package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
)

// generate streams the model's answer, with at most one round of the search_conversations tool (design 2).
func (g *generation) generate(ctx context.Context, emit func(string) error) (llm.Completion, error) {
	request := llm.Request{Model: g.prompt.Model, Messages: g.messages(), Tools: g.prompt.Tools, User: endUser(g.user)}
	completion, err := g.Model.Stream(ctx, request, emit)
	if err != nil || len(completion.ToolCalls) == 0 || g.text.Len() > 0 {
		return completion, err
	}
	request.Messages = append(request.Messages, llm.Message{Role: "assistant", ToolCalls: completion.ToolCalls})
	for _, call := range completion.ToolCalls {
		request.Messages = append(request.Messages, llm.Message{Role: "tool", ToolCallID: call.ID, Content: g.search(ctx, call)})
	}
	request.Tools = nil
	second, err := g.Model.Stream(ctx, request, emit)
	second.Usage = sum(completion.Usage, second.Usage)
	return second, err
}

// messages are the prompt as the model gets it: the one payload of a text recipe, or system and role messages.
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

// endUser is the id by which a vendor tells users apart without knowing them.
func endUser(user conversation.UserID) string {
	hash := sha256.Sum256([]byte(user))
	return hex.EncodeToString(hash[:16])
}

func sum(a, b llm.Usage) llm.Usage {
	return llm.Usage{
		PromptTokens:     a.PromptTokens + b.PromptTokens,
		CompletionTokens: a.CompletionTokens + b.CompletionTokens,
		TotalTokens:      a.TotalTokens + b.TotalTokens,
	}
}
