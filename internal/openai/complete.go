package openai

import (
	"cmp"
	"context"
	"errors"

	"github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/llm"
)

// Complete asks for one whole answer. It retries within the context's deadline when the service is overloaded.
// With a schema the answer's text is JSON of that schema. Its errors are RateLimited, Unavailable or Internal.
func (c *Client) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	request := c.request(r)
	var answer openai.ChatCompletionResponse
	err := c.retry.do(ctx, "complete chat", func(ctx context.Context) (err error) {
		answer, err = c.chat.CreateChatCompletion(ctx, request)
		if err == nil && len(answer.Choices) == 0 {
			err = errors.New("answer without choices")
		}
		return err
	})
	if err != nil {
		return llm.Completion{}, err
	}
	return completion(answer), nil
}

func completion(answer openai.ChatCompletionResponse) llm.Completion {
	choice := answer.Choices[0]
	out := llm.Completion{
		Text:         cmp.Or(choice.Message.Content, choice.Message.Refusal),
		Model:        answer.Model,
		FinishReason: string(choice.FinishReason),
		Usage:        usage(answer.Usage),
	}
	for _, call := range choice.Message.ToolCalls {
		out.ToolCalls = append(out.ToolCalls,
			llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return out
}

func usage(u openai.Usage) llm.Usage {
	return llm.Usage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
}

func (c *Client) request(r llm.Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{
		Model:    cmp.Or(r.Model, c.chatModel),
		User:     r.User,
		Messages: make([]openai.ChatCompletionMessage, len(r.Messages)),
	}
	for i, m := range r.Messages {
		out.Messages[i] = message(m)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters},
		})
	}
	if r.Schema != nil {
		out.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: r.Schema.Name, Schema: r.Schema.JSON, Strict: true,
			},
		}
	}
	return limited(out, r.MaxTokens)
}

// limited sets the limit of the answer in the field that the model accepts. Reasoning models refuse max_tokens, which
// OpenAI has deprecated, and services other than OpenAI's do not know max_completion_tokens. The library knows the
// reasoning models.
func limited(r openai.ChatCompletionRequest, tokens int) openai.ChatCompletionRequest {
	old := r
	old.MaxTokens = tokens //nolint:staticcheck // the only name that services other than OpenAI's know
	if errors.Is(openai.NewReasoningValidator().Validate(old), openai.ErrReasoningModelMaxTokensDeprecated) {
		r.MaxCompletionTokens = tokens
		return r
	}
	return old
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
