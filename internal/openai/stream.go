package openai

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/llm"
)

// errCut is a stream that ended without saying how: the library reports a lost connection as an ordinary end.
var errCut = errors.New("stream ended without a finish reason")

// Stream asks for one answer and emits its text as it arrives; the completion is the whole. Opening the stream is
// tried again as Complete is, but nothing is once the answer has begun. On an error, which emit's own is too, the
// completion holds what had arrived.
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
	defer func() { _ = stream.Close() }() // what was read of it is complete, or an error already
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
			err = errCut
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

// received puts an answer together from its chunks.
type received struct {
	out  llm.Completion
	text strings.Builder
}

// add takes one chunk and returns the text in it.
func (r *received) add(chunk openai.ChatCompletionStreamResponse) string {
	if chunk.Model != "" {
		r.out.Model = chunk.Model
	}
	if chunk.Usage != nil {
		r.out.Usage = usage(*chunk.Usage)
	}
	if len(chunk.Choices) == 0 {
		return "" // the last chunk carries the usage alone
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

// addCall adds a piece of a tool call: the first piece of each index has its id and name, the others more of its
// arguments. A service that gives no index sends each call whole.
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
	kept := &r.out.ToolCalls[at]
	kept.ID += call.ID
	kept.Name += call.Function.Name
	kept.Arguments += call.Function.Arguments
}

func (r *received) completion() llm.Completion {
	r.out.Text = r.text.String()
	return r.out
}
