package chat

import (
	"encoding/json"
	"iter"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
)

// answerData is what is known of an answer beside its text: the metadata of its message. A replay needs it.
type answerData struct {
	PromptID     string     `json:"promptId,omitempty"`
	FinishReason string     `json:"finishReason"`
	Usage        *llm.Usage `json:"usage,omitempty"`
	Model        string     `json:"model,omitempty"`
	Interrupted  bool       `json:"interrupted,omitempty"`
}

func (d answerData) metadata() map[string]any { return encoded[map[string]any](d) }

func answerDataOf(answer conversation.Message) answerData {
	return encoded[answerData](answer.Metadata)
}

// encoded returns a value as another type with the same JSON. What is of another type there is left out.
func encoded[T any](from any) (to T) {
	if raw, err := json.Marshal(from); err == nil {
		_ = json.Unmarshal(raw, &to)
	}
	return to
}

// replay returns the events of a turn that is finished, with the stored text.
func replay(turn conversation.Turn) iter.Seq[Event] {
	answer := *turn.Answer
	events := []Event{
		{"prompt", Built{
			PromptID: answerDataOf(answer).PromptID, UserMessageID: turn.Message.ID, AnswerID: answer.ID,
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
	data := answerDataOf(answer)
	done := Done{MessageID: answer.ID, FinishReason: data.FinishReason, Model: data.Model}
	if data.Usage != nil {
		done.Usage = *data.Usage
	}
	return done
}
