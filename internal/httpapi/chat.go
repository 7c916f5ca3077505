package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime/debug"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Chatter runs one turn of the streaming chat.
type Chatter interface {
	// Start makes the user's message durable and returns the events of the answer: "prompt", "token" …, then exactly
	// one "done" or "error", whose data is an error. What fails before the first event is an error of Start.
	Start(ctx context.Context, user conversation.UserID, r chat.Request) (chat.Answer, error)
}

type chatBody struct {
	SessionID id     `json:"sessionId" doc:"A session of this user."`
	Message   string `json:"message" minLength:"1" doc:"1 byte to 256 KiB."`
	AgentID   string `json:"agentId,omitempty" minLength:"1" maxLength:"128" doc:"The part that the model plays; coach where absent."`
	Recipe    string `json:"recipe,omitempty" minLength:"1" maxLength:"128" doc:"How the prompt is built; unified where absent."`
}

type (
	chatInput struct {
		Keyed
		Body chatBody
	}
	streamOutput struct {
		ContentType  string `header:"Content-Type" hidden:"true"`
		CacheControl string `header:"Cache-Control" hidden:"true"`
		Replayed     string `header:"Idempotency-Replayed" enum:"true" doc:"true where an earlier call with the same key had begun it: its events come again."`
		Body         func(huma.Context)
	}
)

// chats serves the streaming chat.
type chats struct {
	*server
	chat Chatter
}

const chatExample = `event: prompt
data: {"promptId":"prm_1","userMessageId":"msg_1"}

event: token
data: {"text":"Three sets"}

event: done
data: {"messageId":"msg_2","usage":{"promptTokens":812,"completionTokens":3,"totalTokens":815},"finishReason":"stop"}

`

func (s chats) register() {
	register(s.server, operation{
		method: http.MethodPost, path: "/v1/chat", id: "chat", tag: "Chat", summary: "Chat, streaming",
		errors: []int{http.StatusNotFound, http.StatusConflict}, produces: "text/event-stream", example: chatExample,
		detail: "Stores the user's message, builds the prompt and streams the model's answer: an event prompt, events " +
			"token, then exactly one done, or error with a problem. A repeat with the same Idempotency-Key gets the " +
			"same events with the stored text; while the first still runs it is a conflict with Retry-After. A client " +
			"that goes away changes nothing: the whole answer is stored.",
	}, s.start)
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
		SessionID: string(b.SessionID), Message: b.Message, AgentID: b.AgentID, Recipe: b.Recipe, Idempotency: idem,
	})
	if err != nil {
		cancel()
		return nil, err
	}
	return &streamOutput{
		ContentType: "text/event-stream", CacheControl: "no-store, no-transform", Replayed: replayedText(answer.Replayed),
		Body: func(hc huma.Context) {
			defer cancel()
			s.stream(ctx, hc, answer.Events)
		},
	}, nil
}

// detached keeps a context's values and deadline, but not the cancellation that a client's leaving brings.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, end)
}

// stream writes the events as they come. It hears them to their end, whoever still listens, and closes a stream whose
// last event is missing with an error of its own.
func (s chats) stream(ctx context.Context, hc huma.Context, events iter.Seq[chat.Event]) {
	hc.SetStatus(http.StatusOK)
	out := eventWriter{w: hc.BodyWriter()}
	defer func() {
		if v := recover(); v != nil {
			s.log.ErrorContext(ctx, "chat panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
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

// eventWriter writes server-sent events, each at once, until the last one or until the client is gone.
type eventWriter struct {
	w interface {
		Write(p []byte) (int, error)
	}
	// closed is set behind done or error; gone when a write failed.
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

// flush sends what was written. A writer that sends each write at once, as a function URL's does, has nothing to flush.
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
