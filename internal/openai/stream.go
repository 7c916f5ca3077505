package openai

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/llm"
)

// errNoFinishReason is the error of a stream that ended without a finish reason. The library reports a lost connection
// as an ordinary end of the stream.
var errNoFinishReason = errors.New("stream ended without a finish reason")

// Stream asks for one answer, emits its text as it arrives, and returns the whole answer. It retries to open the stream
// as Complete does, but not to read it. When reading or emit fails, it returns the error and what had arrived.
func (c *Client) Stream(ctx context.Context, r llm.Request, emit func(delta string) error) (llm.Completion, error) {
	request := c.request(r)
	request.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	var stream *openai.ChatCompletionStream
	err := c.retry.do(ctx, "open chat stream", func(ctx context.Context) (err error) {
		stream, err = c.chat.CreateChatCompletionStream(ctx, request)
		return err
	})
	if err != nil {
		return llm.Completion{}, err
	}
	defer func() { _ = stream.Close() }() // receive reports what matters
	return receive(stream, emit)
}

func receive(stream *openai.ChatCompletionStream, emit func(delta string) error) (llm.Completion, error) {
	var got received
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) && got.out.FinishReason != "" {
			return got.completion(), nil
		}
		if errors.Is(err, io.EOF) {
			err = errNoFinishReason
		}
		if err != nil {
			return got.completion(), failure("read chat stream", err, advice{})
		}
		if delta := got.add(chunk); delta != "" {
			if err := emit(delta); err != nil {
				return got.completion(), err
			}
		}
	}
}

// received is an answer that is put together from its chunks.
type received struct {
	out  llm.Completion
	text strings.Builder
}

// add adds one chunk and returns the text in it.
func (r *received) add(chunk openai.ChatCompletionStreamResponse) string {
	if chunk.Model != "" {
		r.out.Model = chunk.Model
	}
	if chunk.Usage != nil {
		r.out.Usage = usage(*chunk.Usage)
	}
	if len(chunk.Choices) == 0 {
		return "" // the last chunk has only the usage
	}
	choice := chunk.Choices[0]
	if choice.FinishReason != "" {
		r.out.FinishReason = string(choice.FinishReason)
	}
	for _, call := range choice.Delta.ToolCalls {
		r.addCall(call)
	}
	delta := choice.Delta.Content + choice.Delta.Refusal
	r.text.WriteString(delta)
	return delta
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

func (r *received) completion() llm.Completion {
	r.out.Text = r.text.String()
	return r.out
}
