package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/llm"
)

// uiStream is the value of the query parameter stream that asks for a stream of UI messages.
const uiStream = "ui"

// uiTextID is the id of the one text part of an answer.
const uiTextID = "text"

// The chunks of the AI SDK's UI message stream (its type UIMessageChunk) that an answer has.
type (
	uiStart struct {
		Type      string          `json:"type" enum:"start" doc:"Always start."`
		MessageID string          `json:"messageId" doc:"The id of the answer, unless the chunk finish has another."`
		Metadata  uiStartMetadata `json:"messageMetadata"`
	}
	uiStartMetadata struct {
		PromptID string `json:"promptId" doc:"The id of the prompt."`
	}
	uiPrompt struct {
		Type string     `json:"type" enum:"data-prompt" doc:"Always data-prompt."`
		Data chat.Built `json:"data"`
	}
	uiText struct {
		Type string `json:"type" enum:"text-start,text-end" doc:"text-start before the text, text-end after it."`
		ID   string `json:"id" doc:"The id of the text part."`
	}
	uiTextDelta struct {
		Type  string `json:"type" enum:"text-delta" doc:"Always text-delta."`
		ID    string `json:"id" doc:"The id of the text part."`
		Delta string `json:"delta" doc:"The next piece of the answer."`
	}
	uiFinish struct {
		Type         string           `json:"type" enum:"finish" doc:"Always finish."`
		FinishReason string           `json:"finishReason" enum:"stop,length,content-filter,tool-calls,interrupted,other" doc:"Why the model stopped."`
		Metadata     uiFinishMetadata `json:"messageMetadata"`
	}
	uiFinishMetadata struct {
		MessageID string    `json:"messageId" doc:"The id under which the answer is stored."`
		Usage     llm.Usage `json:"usage"`
		Model     string    `json:"model,omitempty" doc:"The name by which the vendor calls the model that answered."`
	}
	uiError struct {
		Type      string `json:"type" enum:"error" doc:"Always error."`
		ErrorText string `json:"errorText" doc:"The problem's detail."`
	}
)

// uiChunkSchema returns the schema of an event of a UI message stream. It has no name.
func uiChunkSchema(r huma.Registry) *huma.Schema {
	var all []*huma.Schema
	for _, chunk := range []reflect.Type{
		reflect.TypeFor[uiStart](), reflect.TypeFor[uiPrompt](), reflect.TypeFor[uiText](), reflect.TypeFor[uiTextDelta](),
		reflect.TypeFor[uiFinish](), reflect.TypeFor[uiError](),
	} {
		all = append(all, r.Schema(chunk, true, ""))
	}
	return &huma.Schema{
		Type: huma.TypeObject, Required: []string{"data"},
		Properties: map[string]*huma.Schema{"data": {Type: huma.TypeString, Extensions: map[string]any{
			"contentMediaType": "application/json", "contentSchema": &huma.Schema{OneOf: all},
		}}},
	}
}

type joinInput struct {
	SessionID id     `path:"sessionId"`
	Stream    string `query:"stream" enum:"ui,events" default:"ui" doc:"With events, the events of POST /v1/chat come."`
}

func (s chats) registerJoin() {
	schema := func(r huma.Registry) *huma.Schema {
		events := chatEventSchema(r)
		events.OneOf = append(events.OneOf, uiChunkSchema(r))
		return events
	}
	register(s.server, op("GET /v1/chat/{sessionId}/stream", "joinChat", "Chat", "Join the answer that is being generated",
		"The answer that is being generated in the session, from its beginning, as a UI message stream, whichever "+
			"request and screen of the user began it. 204 where none is. Of several at once it is the one that began last. "+
			"The text comes in steps of about a second, the first after up to six, and the rest when the answer is stored. "+
			"A user who has joined as many answers as may be at once gets 429 with Retry-After.",
	).streams("text/event-stream", "", schema).responds(statusResponse{status: http.StatusNoContent}), s.join)
}

func (s chats) join(ctx context.Context, c Caller, in *joinInput) (*streamOutput, error) {
	answer, err := s.chat.Join(ctx, c.User, string(in.SessionID))
	if err != nil {
		return nil, err
	}
	if answer.Events == nil {
		return &streamOutput{Body: func(hc huma.Context) { hc.SetStatus(http.StatusNoContent) }}, nil
	}
	return s.newStream(answer, in.Stream == uiStream, func(hc huma.Context, form frames) {
		s.streamEvents(ctx, hc, answer.Events, form)
	}), nil
}

// uiFrames writes an answer as a UI message stream.
type uiFrames struct{ inText, closed bool }

func (f *uiFrames) frames(e chat.Event) []frame {
	if f.closed {
		return nil
	}
	switch data := e.Data.(type) {
	case chat.Built:
		return chunks(
			uiStart{"start", data.AnswerID, uiStartMetadata{data.PromptID}}, uiPrompt{"data-prompt", data},
		)
	case chat.Token:
		return append(f.startText(), frame{data: uiTextDelta{"text-delta", uiTextID, data.Text}})
	case chat.Done:
		finish := uiFinish{
			"finish", uiFinishReason(data.FinishReason), uiFinishMetadata{data.MessageID, data.Usage, data.Model},
		}
		return append(f.end(), chunks(finish, doneMark{})...)
	case *problem:
		return append(f.end(), chunks(uiError{"error", data.Detail}, doneMark{})...)
	}
	return nil
}

func (f *uiFrames) startText() []frame {
	if f.inText {
		return nil
	}
	f.inText = true
	return chunks(uiText{"text-start", uiTextID})
}

func (f *uiFrames) end() []frame {
	f.closed = true
	if !f.inText {
		return nil
	}
	return chunks(uiText{"text-end", uiTextID})
}

func chunks(all ...any) []frame {
	out := make([]frame, len(all))
	for i, c := range all {
		out[i] = frame{data: c}
	}
	return out
}

// uiFinishReason returns the AI SDK's word for a finish reason.
func uiFinishReason(reason string) string {
	switch reason {
	case llm.FinishStop, llm.FinishLength, chat.Interrupted:
		return reason
	case llm.FinishFilter:
		return "content-filter"
	case "tool_calls":
		return "tool-calls"
	}
	return "other"
}
