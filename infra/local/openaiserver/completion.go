package openaiserver

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"time"
)

// Why an answer ended.
const (
	finishStop      = "stop"
	finishLength    = "length"
	finishToolCalls = "tool_calls"
)

// answer is a text or the call of a tool.
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
	Details          struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	PromptDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (s *server) chatCompletions(w http.ResponseWriter, r *http.Request) error {
	var request chatRequest
	if err := readStrict(r, &request, chatFields, func(name string) *apiError {
		return badRequest("", "Unrecognized request argument supplied: %s", name)
	}); err != nil {
		return err
	}
	if err := request.checkModel(); err != nil {
		return err
	}
	if err := request.validate(); err != nil {
		return err
	}
	tier, err := request.tier()
	if err != nil {
		return err
	}
	a := s.answer(&request)
	head := map[string]any{
		"id": "chatcmpl-offline", "created": time.Now().Unix(), "model": s.name, "service_tier": tier,
	}
	if request.Stream {
		stream(w, head, a, request.StreamOptions.IncludeUsage)
		return nil
	}
	head["object"], head["usage"] = "chat.completion", a.usage
	head["choices"] = []any{
		map[string]any{"index": 0, "message": a.message(), "logprobs": nil, "finish_reason": a.finish},
	}
	return writeJSON(w, http.StatusOK, head)
}

func (a answer) message() map[string]any {
	if a.call != nil {
		return map[string]any{"role": "assistant", "content": nil, "refusal": nil, "tool_calls": []toolCall{*a.call}}
	}
	return map[string]any{"role": "assistant", "content": a.text, "refusal": nil}
}

// answer composes the answer and cuts it to the request's limits. What the model spends on its reasoning comes first.
func (s *server) answer(request *chatRequest) answer {
	a := s.compose(request)
	said := a.text
	a.finish = finishStop
	if a.call != nil {
		a.finish, said = finishToolCalls, a.call.Function.Name+a.call.Function.Arguments
	}
	a.usage.PromptTokens = s.promptTokens(request)
	a.usage.PromptDetails.CachedTokens = s.cache.use(request, s.tokens.chat.Count)
	reasoning := min(reasoningTokens[request.effort], request.limit())
	kept, count, cut := s.tokens.cut(said, request.limit()-reasoning)
	if cut {
		a = answer{text: kept, finish: finishLength, usage: a.usage}
	}
	a.usage.CompletionTokens = count + reasoning
	a.usage.Details.ReasoningTokens = reasoning
	a.usage.TotalTokens = a.usage.PromptTokens + a.usage.CompletionTokens
	return a
}

// compose returns the kind of answer that the request asks for.
func (s *server) compose(request *chatRequest) answer {
	c, format := request.conversation(), request.ResponseFormat
	if format != nil && format.Type == "json_schema" {
		return answer{text: s.structured(c, format.JSONSchema)}
	}
	reply := s.model.Reply(c)
	if called := request.tool(reply.Tool); called != nil {
		return answer{call: called.call(reply.Query)}
	}
	if format != nil && format.Type == "json_object" {
		return answer{text: marshalText(map[string]string{"answer": reply.Text})}
	}
	return answer{text: reply.Text}
}

// noTool is the choice of tools that lets the model call none.
const noTool = "none"

// conversation is the request as the model sees it.
func (r *chatRequest) conversation() Conversation {
	var c Conversation
	for _, m := range r.Messages {
		c.Messages = append(c.Messages, Message{m.Role, m.Content.text})
	}
	for _, t := range r.Tools {
		if r.ToolChoice != noTool {
			c.Tools = append(c.Tools, t.Function.Name)
		}
	}
	return c
}

// call fills the parameters of a tool: the query, and everything else with its least value.
func (t *tool) call(query string) *toolCall {
	arguments := "{}"
	if len(t.Function.Parameters) > 0 {
		arguments = filled(t.Function.Parameters, map[string]any{"query": query}, "")
	}
	return &toolCall{
		ID:       fmt.Sprintf("call_%016x", hash(t.Function.Name+"\x00"+query)),
		Type:     "function",
		Function: functionCall{Name: t.Function.Name, Arguments: arguments},
	}
}

// hash is the same on every machine.
func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// promptTokens counts as the service does: 3 tokens for each message besides its texts, and 3 for the answer's opening.
func (s *server) promptTokens(request *chatRequest) int {
	const perMessage, opening = 3, 3
	total := opening
	texts := []string{}
	for _, m := range request.Messages {
		total += perMessage
		texts = append(texts, m.Role, m.Content.text)
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

// wordsPerChunk is the length of a chunk of an answer.
const wordsPerChunk = 3

// stream sends the answer as server-sent events: its opening, its text in small pieces, its end, its usage where the
// request asks for it, and the closing mark.
func stream(w http.ResponseWriter, chunk map[string]any, a answer, withUsage bool) {
	chunk["object"] = "chat.completion.chunk"
	startEvents(w)
	send := func(delta, finish any) {
		chunk["choices"] = []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}
		writeEvent(w, "", mustMarshal(chunk))
	}
	for _, delta := range a.deltas() {
		send(delta, nil)
	}
	send(struct{}{}, a.finish)
	if withUsage {
		chunk["choices"], chunk["usage"] = []any{}, a.usage
		writeEvent(w, "", mustMarshal(chunk))
	}
	writeEvent(w, "", []byte("[DONE]"))
}

// deltas cuts the answer into what each chunk adds. A call is one piece.
func (a answer) deltas() []any {
	if a.call != nil {
		call := map[string]any{"index": 0, "id": a.call.ID, "type": a.call.Type, "function": a.call.Function}
		return []any{map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}}}
	}
	deltas := []any{map[string]any{"role": "assistant", "content": ""}}
	for _, piece := range splitPieces(a.text, wordsPerChunk) {
		deltas = append(deltas, map[string]any{"content": piece})
	}
	return deltas
}

// splitPieces cuts a text after every n words. The pieces joined are the text.
func splitPieces(text string, n int) []string {
	var pieces []string
	start, words := 0, 0
	for i := 1; i < len(text); i++ {
		if text[i] != ' ' || text[i-1] == ' ' {
			continue
		}
		if words++; words%n == 0 {
			pieces = append(pieces, text[start:i])
			start = i
		}
	}
	if start < len(text) {
		pieces = append(pieces, text[start:])
	}
	return pieces
}

func startEvents(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
}

// writeEvent writes a server-sent event, with a line before its data or without, and flushes it. It ignores failed
// writes: the client is gone then, and the request's context has ended.
func writeEvent(w http.ResponseWriter, line string, data []byte) {
	_, _ = fmt.Fprintf(w, "%sdata: %s\n\n", line, data)
	_ = http.NewResponseController(w).Flush()
}

func mustMarshal(event any) []byte {
	data, err := json.Marshal(event)
	if err != nil {
		panic(err) // events hold nothing that cannot be marshalled
	}
	return data
}
