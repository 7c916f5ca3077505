package offlinemodel

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// wordsPerChunk is how much of an answer one chunk brings.
const wordsPerChunk = 3

// chunk is one event of a stream.
type chunk struct {
	completion
	Choices []chunkChoice `json:"choices"`
	Usage   *usage        `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index        int     `json:"index"`
	Delta        any     `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

// stream sends the answer as server-sent events: its opening, its text in small pieces, its end, its usage where that
// was asked for, and the closing mark. It stops when the client goes away.
func (s *server) stream(w http.ResponseWriter, r *http.Request, head completion, a answer, withUsage bool) error {
	head.Object = "chat.completion.chunk"
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	events := &eventWriter{w: w, controller: http.NewResponseController(w)}
	for i, delta := range a.deltas() {
		if i > 0 && !s.pause(r) {
			return nil
		}
		events.send(chunk{completion: head, Choices: []chunkChoice{{Delta: delta}}})
	}
	events.send(chunk{completion: head, Choices: []chunkChoice{{Delta: struct{}{}, FinishReason: &a.finish}}})
	if withUsage {
		events.send(chunk{completion: head, Choices: []chunkChoice{}, Usage: &a.usage})
	}
	events.data([]byte("[DONE]"))
	return nil
}

// pause waits for the configured delay, and tells whether the client is still there.
func (s *server) pause(r *http.Request) bool {
	if s.options.ChunkDelay <= 0 {
		return r.Context().Err() == nil
	}
	timer := time.NewTimer(s.options.ChunkDelay)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-timer.C:
		return true
	}
}

// deltas cuts the answer into what each chunk adds.
func (a answer) deltas() []any {
	type text struct {
		Content string `json:"content"`
	}
	if a.call != nil {
		return a.callDeltas()
	}
	deltas := []any{map[string]any{"role": "assistant", "content": ""}}
	for _, piece := range splitPieces(a.text, wordsPerChunk) {
		deltas = append(deltas, text{Content: piece})
	}
	return deltas
}

func (a answer) callDeltas() []any {
	type call struct {
		Index    int            `json:"index"`
		ID       string         `json:"id,omitempty"`
		Type     string         `json:"type,omitempty"`
		Function map[string]any `json:"function"`
	}
	opening := call{ID: a.call.ID, Type: a.call.Type, Function: map[string]any{"name": a.call.Function.Name, "arguments": ""}}
	deltas := []any{map[string]any{"role": "assistant", "content": nil, "tool_calls": []call{opening}}}
	for _, piece := range splitPieces(a.call.Function.Arguments, wordsPerChunk) {
		more := call{Function: map[string]any{"arguments": piece}}
		deltas = append(deltas, map[string]any{"tool_calls": []call{more}})
	}
	return deltas
}

// splitPieces cuts a text after every n words; the pieces joined are the text.
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

// eventWriter writes server-sent events, each at once. A failed write means that the client is gone, which the
// request's context tells as well.
type eventWriter struct {
	w          http.ResponseWriter
	controller *http.ResponseController
}

func (e *eventWriter) send(c chunk) {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // chunks hold nothing that cannot be marshalled
	}
	e.data(data)
}

func (e *eventWriter) data(data []byte) {
	var event strings.Builder
	event.WriteString("data: ")
	event.Write(data)
	event.WriteString("\n\n")
	_, _ = e.w.Write([]byte(event.String()))
	_ = e.controller.Flush()
}
