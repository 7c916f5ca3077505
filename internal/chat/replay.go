package chat

import (
	"encoding/json"
	"iter"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
)

// The keys of the answer's metadata that a replay needs beside the text.
const (
	metaPrompt = "promptId"
	metaFinish = "finishReason"
	metaUsage  = "usage"
	metaModel  = "model"
)

// replay returns the events of a turn that is finished, with the stored text.
func replay(turn conversation.Turn) iter.Seq[Event] {
	answer := *turn.Answer
	events := []Event{
		{"prompt", Built{
			PromptID: text(answer.Metadata[metaPrompt]), UserMessageID: turn.Message.ID, AnswerID: answer.ID,
		}},
		{"token", Token{Text: answer.Content}},
		{"done", doneOf(answer)},
	}
	return func(yield func(Event) bool) {
		for _, e := range events {
			if !yield(e) {
				return
			}
		}
	}
}

// doneOf returns the last event of an answer that is stored.
func doneOf(answer conversation.Message) Done {
	return Done{
		MessageID: answer.ID, Usage: usageOf(answer.Metadata[metaUsage]),
		FinishReason: text(answer.Metadata[metaFinish]), Model: text(answer.Metadata[metaModel]),
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// usageMap and usageOf convert token counts to metadata and back. The store returns numbers in a type of its own.
func usageMap(u llm.Usage) map[string]any {
	return map[string]any{
		"promptTokens": u.PromptTokens, "cachedTokens": u.CachedTokens,
		"completionTokens": u.CompletionTokens, "totalTokens": u.TotalTokens,
	}
}

func usageOf(v any) llm.Usage {
	var u llm.Usage
	raw, err := json.Marshal(v)
	if err != nil {
		return u
	}
	if err := json.Unmarshal(raw, &u); err != nil {
		return llm.Usage{}
	}
	return u
}
