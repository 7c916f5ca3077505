package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/recall"
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

// toolTokens is how much of the conversations one search may bring back to the model.
const toolTokens = 1500

// search answers one tool call with what recall finds, as data; a search that fails says so to the model.
func (g *generation) search(ctx context.Context, call llm.ToolCall) string {
	var arguments struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil || strings.TrimSpace(arguments.Query) == "" {
		return `{"error":"the argument query must be a text"}`
	}
	tokens := toolTokens
	found, err := g.Recall.Messages(ctx, g.user, recall.MessageQuery{
		Query: arguments.Query, SessionID: g.turn.Session.ID, Tokens: &tokens,
	})
	if err != nil {
		g.Report(ctx, "search conversations", err)
		return `{"error":"the search is not available now"}`
	}
	return renderFound(found)
}

// renderFound writes what a search found as JSON, so that no content can pass for anything but a value. Stored system
// messages never reach a model.
func renderFound(found recall.Messages) string {
	type line struct {
		When    string `json:"when"`
		Context string `json:"context"`
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	lines := make([]line, 0, len(found.Messages))
	for _, m := range found.Messages {
		if m.Role == conversation.System {
			continue
		}
		lines = append(lines, line{conversation.FormatTime(m.Timestamp), m.Context, string(m.Role), m.Content})
	}
	text, err := json.Marshal(map[string]any{"messages": lines})
	if err != nil {
		return fmt.Sprintf(`{"error":"%d messages could not be written"}`, len(lines))
	}
	return string(text)
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
