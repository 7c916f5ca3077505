package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Chatter runs one turn of the streaming chat.
type Chatter interface {
	// Start stores the user's message and returns the events of the answer: "prompt", any number of "token", then
	// exactly one "done" or "error". The data of "error" is an error. Start returns the errors before the first event.
	Start(ctx context.Context, user conversation.UserID, r chat.Request) (chat.Answer, error)
}

type chatBody struct {
	SessionID id         `json:"sessionId" doc:"A session of this user."`
	Message   string     `json:"message" minLength:"1" doc:"At most 256 KiB."`
	AgentID   agentID    `json:"agentId,omitempty"`
	Recipe    recipeName `json:"recipe,omitempty"`
}

type (
	chatInput struct {
		Idempotent
		Body chatBody
	}
	streamOutput struct {
		ContentType  string   `header:"Content-Type" hidden:"true"`
		CacheControl string   `header:"Cache-Control" hidden:"true"`
		Replayed     replayed `header:"Idempotency-Replayed"`
		Body         func(huma.Context)
	}
)

// chats serves /v1/chat.
type chats struct {
	*server
	chat Chatter
}

const chatExample = `event: prompt
data: {"promptId":"prm_1","userMessageId":"msg_1"}

event: token
data: {"text":"Three sets"}

event: done
data: {"messageId":"msg_2","usage":{"promptTokens":3812,"cachedTokens":2944,` +
	`"completionTokens":3,"totalTokens":3815},"finishReason":"stop","model":"gpt-6-luna"}

`

func (s chats) register() {
	register(s.server, operation{
		method: http.MethodPost, path: "/v1/chat", id: "chat", tag: "Chat", summary: "Chat, streaming",
		errors: []int{http.StatusNotFound, http.StatusConflict}, produces: "text/event-stream", example: chatExample,
		schema: chatEventSchema(s.api.OpenAPI().Components.Schemas),
		detail: "Stores the user's message, builds the prompt and streams the model's answer: one event prompt, events " +
			"token, then exactly one event done, or error with a problem. A repeat with the same Idempotency-Key gets " +
			"the same events with the stored text. While the first request runs, a repeat is a conflict with " +
			"Retry-After. The whole answer is stored even if the client disconnects. A user who has spent the tokens of " +
			"the day, where there is a daily limit, or has as many answers under way as may be at once, gets 429 with " +
			"Retry-After, and nothing is stored.",
	}, s.start)
}

// chatEventSchema returns the schema of one event. In OpenAPI 3.1 the schema of an event stream describes each event,
// and the data of an event is a string.
func chatEventSchema(r huma.Registry) *huma.Schema {
	event := func(name string, data reflect.Type) *huma.Schema {
		return &huma.Schema{Type: huma.TypeObject, Required: []string{"event", "data"}, Properties: map[string]*huma.Schema{
			"event": {Type: huma.TypeString, Enum: []any{name}},
			"data": {Type: huma.TypeString, Extensions: map[string]any{
				"contentMediaType": "application/json", "contentSchema": r.Schema(data, true, ""),
			}},
		}}
	}
	return &huma.Schema{OneOf: []*huma.Schema{
		event("prompt", reflect.TypeFor[chat.Built]()), event("token", reflect.TypeFor[chat.Token]()),
		event("done", reflect.TypeFor[chat.Done]()), event("error", reflect.TypeFor[problem]()),
	}}
}

func (s chats) start(ctx context.Context, c Caller, in *chatInput) (*streamOutput, error) {
	if len(in.Body.Message) > conversation.MaxContentBytes {
		return nil, fault.InvalidField("message", fmt.Sprintf("has more than %d bytes", conversation.MaxContentBytes))
	}
	idem, err := in.idempotency(in.Body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := detached(ctx)
	b := in.Body
	answer, err := s.chat.Start(ctx, c.User, chat.Request{
		SessionID: string(b.SessionID), Message: b.Message, AgentID: string(b.AgentID),
		Recipe: string(b.Recipe), Idempotency: idem,
	})
	if err != nil {
		cancel()
		return nil, err
	}
	return &streamOutput{
		ContentType: "text/event-stream", CacheControl: "no-store, no-transform",
		Replayed: newReplayed(answer.Replayed),
		Body: func(hc huma.Context) {
			defer cancel()
			s.streamEvents(ctx, hc, answer.Events)
		},
	}, nil
}

// detached returns a context with the values and the deadline of ctx, which a disconnect of the client does not cancel.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, end)
}

// streamEvents writes the events as they come. It reads all of them even if the client is gone. If the last event is
// missing, it ends the stream with an error event.
func (s chats) streamEvents(ctx context.Context, hc huma.Context, events iter.Seq[chat.Event]) {
	hc.SetStatus(http.StatusOK)
	out := eventWriter{w: hc.BodyWriter()}
	defer func() {
		if v := recover(); v != nil {
			s.logPanic(ctx, "chat", v)
		}
		if !out.closed {
			out.send("error", problemOf(fault.New(fault.Internal, "")))
		}
	}()
	for e := range events {
		if err, ok := e.Data.(error); ok {
			e.Data = s.report(ctx, "chat", err)
		}
		out.send(e.Name, e.Data)
	}
}

// eventWriter writes server-sent events until the last one, or until the client is gone.
type eventWriter struct {
	w io.Writer
	// closed is set after done or error, gone after a failed write.
	closed, gone bool
}

func (o *eventWriter) send(name string, data any) {
	if o.closed {
		return
	}
	o.closed = name == "done" || name == "error"
	if o.gone {
		return
	}
	var frame bytes.Buffer
	frame.WriteString("event: " + name + "\ndata: ")
	encoder := json.NewEncoder(&frame)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(data); err != nil {
		return
	}
	frame.WriteByte('\n')
	if _, err := o.w.Write(frame.Bytes()); err != nil {
		o.gone = true
		return
	}
	o.gone = flush(o.w) != nil
}

// flush sends what was written. The writer of a function URL sends each write at once and has no Flush method.
func flush(w any) error {
	rw, ok := w.(http.ResponseWriter)
	if !ok {
		return nil
	}
	if err := http.NewResponseController(rw).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
