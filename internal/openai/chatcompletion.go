package openai

import (
	"cmp"
	"errors"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/llm"
)

// newChatCompletion is a request of the Chat Completions API.
func newChatCompletion(p plan, r llm.Request) openai.ChatCompletionRequest {
	messages := r.Messages
	if p.oneSystem {
		messages = withOneSystem(messages)
	}
	out := openai.ChatCompletionRequest{
		Model: p.model, User: r.User, ReasoningEffort: p.effort,
		ServiceTier: openai.ServiceTier(p.tier),
		Messages:    make([]openai.ChatCompletionMessage, len(messages)),
	}
	if p.limit == maxCompletionTokens {
		out.MaxCompletionTokens = p.tokens
	} else {
		out.MaxTokens = p.tokens //nolint:staticcheck // the only name that services other than OpenAI's know
	}
	for i, m := range messages {
		out.Messages[i] = message(m)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters},
		})
	}
	if r.MustAnswer && len(r.Tools) > 0 {
		out.ToolChoice = noTool
	}
	if r.Schema != nil {
		out.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: r.Schema.Name, Schema: r.Schema.JSON, Strict: true,
			},
		}
	}
	return out
}

// noTool is the choice of tools that lets the model call none.
const noTool = "none"

// systemRole is the role of what the app and not the user says.
const systemRole = "system"

// withOneSystem joins all system messages to one, which is the first message.
func withOneSystem(messages []llm.Message) []llm.Message {
	var system []string
	var others []llm.Message
	for _, m := range messages {
		if m.Role == systemRole {
			system = append(system, m.Content)
		} else {
			others = append(others, m)
		}
	}
	if len(system) == 0 {
		return messages
	}
	first := llm.Message{Role: systemRole, Content: strings.Join(system, "\n\n")}
	return append([]llm.Message{first}, others...)
}

func message(m llm.Message) openai.ChatCompletionMessage {
	out := openai.ChatCompletionMessage{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID}
	for _, call := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
			ID: call.ID, Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: call.Name, Arguments: call.Arguments},
		})
	}
	return out
}

func chatCompletion(answer openai.ChatCompletionResponse) (llm.Completion, error) {
	if len(answer.Choices) == 0 {
		return llm.Completion{}, errors.New("answer without choices")
	}
	choice := answer.Choices[0]
	out := llm.Completion{
		Text:         cmp.Or(choice.Message.Content, choice.Message.Refusal),
		Refused:      choice.Message.Refusal != "",
		Model:        answer.Model,
		FinishReason: string(choice.FinishReason),
		Usage:        chatUsage(answer.Usage),
	}
	for _, call := range choice.Message.ToolCalls {
		out.ToolCalls = append(out.ToolCalls,
			llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return out, nil
}

func chatUsage(u openai.Usage) llm.Usage {
	out := llm.Usage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
	if u.PromptTokensDetails != nil {
		out.CachedTokens = u.PromptTokensDetails.CachedTokens
	}
	return out
}

// addChunk adds a chunk of a streamed chat completion and returns the text in it.
func (r *received) addChunk(chunk openai.ChatCompletionStreamResponse) string {
	r.out.Model = cmp.Or(chunk.Model, r.out.Model)
	if chunk.Usage != nil {
		r.out.Usage = chatUsage(*chunk.Usage)
	}
	if len(chunk.Choices) == 0 {
		return "" // the last chunk has only the usage
	}
	choice := chunk.Choices[0]
	r.out.FinishReason = cmp.Or(string(choice.FinishReason), r.out.FinishReason)
	for _, call := range choice.Delta.ToolCalls {
		r.addCall(call)
	}
	r.out.Refused = r.out.Refused || choice.Delta.Refusal != ""
	return choice.Delta.Content + choice.Delta.Refusal
}

// addCall adds a piece of a tool call. The first piece of each index has the call's id and name, and later ones have
// more of its arguments. A service that gives no index sends each call in one piece.
func (r *received) addCall(call openai.ToolCall) {
	at := len(r.out.ToolCalls)
	if call.Index != nil {
		at = *call.Index
	}
	if at < 0 || at > len(r.out.ToolCalls) {
		at = len(r.out.ToolCalls)
	}
	if at == len(r.out.ToolCalls) {
		r.out.ToolCalls = append(r.out.ToolCalls, llm.ToolCall{})
	}
	whole := &r.out.ToolCalls[at]
	whole.ID += call.ID
	whole.Name += call.Function.Name
	whole.Arguments += call.Function.Arguments
}
