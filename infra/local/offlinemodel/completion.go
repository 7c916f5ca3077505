package offlinemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Why an answer ended.
const (
	finishStop      = "stop"
	finishLength    = "length"
	finishToolCalls = "tool_calls"
)

// answer is what the model says: a text or a call of a tool.
type answer struct {
	text   string
	call   *toolCall
	finish string
	usage  usage
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// completion is the head that plain answers and stream chunks share.
type completion struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
}

func (s *server) chatCompletions(w http.ResponseWriter, r *http.Request) error {
	var request chatRequest
	if err := readJSON(r, &request); err != nil {
		return err
	}
	if err := request.validate(); err != nil {
		return err
	}
	a, err := s.answer(&request)
	if err != nil {
		return err
	}
	head := completion{ID: a.id(&request), Created: s.options.Now().Unix(), Model: ModelID}
	if request.Stream {
		return s.stream(w, r, head, a, request.StreamOptions.IncludeUsage)
	}
	head.Object = "chat.completion"
	return writeJSON(w, http.StatusOK, plainCompletion{
		completion: head,
		Choices:    []choice{{Message: a.message(), FinishReason: a.finish}},
		Usage:      a.usage,
	})
}

type plainCompletion struct {
	completion
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

type choice struct {
	Index        int            `json:"index"`
	Message      map[string]any `json:"message"`
	LogProbs     any            `json:"logprobs"` // always null
	FinishReason string         `json:"finish_reason"`
}

func (a answer) message() map[string]any {
	if a.call != nil {
		return map[string]any{"role": "assistant", "content": nil, "refusal": nil, "tool_calls": []toolCall{*a.call}}
	}
	return map[string]any{"role": "assistant", "content": a.text, "refusal": nil}
}

// id names an answer by what it answers, so that the same request gets the same one.
func (a answer) id(request *chatRequest) string {
	var all strings.Builder
	for _, m := range request.Messages {
		all.WriteString(m.Role + "\x00" + m.text() + "\x00")
	}
	return fmt.Sprintf("chatcmpl-%016x%016x", hash(all.String()), hash(a.text))
}

// answer composes the answer and brings it within the request's bounds.
func (s *server) answer(request *chatRequest) (answer, error) {
	a := s.compose(request)
	for _, stop := range request.Stop {
		a.text, _, _ = strings.Cut(a.text, stop)
	}
	said := a.text
	a.finish = finishStop
	if a.call != nil {
		a.finish, said = finishToolCalls, a.call.Function.Name+a.call.Function.Arguments
	}
	a.usage.PromptTokens = s.promptTokens(request)
	kept, count, cut, err := s.tokens.cut(said, request.limit())
	if err != nil {
		return answer{}, err
	}
	if cut {
		a = answer{text: kept, finish: finishLength, usage: a.usage}
	}
	a.usage.CompletionTokens = count
	a.usage.TotalTokens = a.usage.PromptTokens + count
	return a, nil
}

// compose chooses what kind of answer the request asks for.
func (s *server) compose(request *chatRequest) answer {
	format := request.ResponseFormat
	switch {
	case format != nil && format.Type == "json_schema":
		return answer{text: s.structured(request)}
	case format != nil && format.Type == "json_object":
		data, err := json.Marshal(map[string]string{"answer": s.chat(request).text})
		if err != nil {
			panic(err) // a map of strings always marshals
		}
		return answer{text: string(data)}
	default:
		return s.chat(request)
	}
}

// promptTokens counts as the service does: each message costs 3 tokens besides its texts, the answer's opening 3.
func (s *server) promptTokens(request *chatRequest) int {
	const perMessage, opening = 3, 3
	total := opening
	texts := []string{}
	for _, m := range request.Messages {
		total += perMessage
		texts = append(texts, m.Role, m.text())
		for _, call := range m.ToolCalls {
			texts = append(texts, call.Function.Name, call.Function.Arguments)
		}
	}
	for _, t := range request.Tools {
		texts = append(texts, t.Function.Name, string(t.Function.Parameters))
	}
	if request.ResponseFormat != nil {
		texts = append(texts, string(request.ResponseFormat.JSONSchema.Schema))
	}
	for _, text := range texts {
		total += s.tokens.chat.Count(text)
	}
	return total
}
