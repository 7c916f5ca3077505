package httpapi

import (
	"context"
	"crypto/rand"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
)

// Chatter runs one turn of the streaming chat.
type Chatter interface {
	// Start stores the user's message and returns the events of the answer: "prompt", any number of "token", then
	// exactly one "done" or "error". The data of "error" is an error. Start returns the errors before the first event.
	Start(ctx context.Context, user conversation.UserID, r chat.Request) (chat.Answer, error)
	// Join returns the events of the answer that is being generated in a session, from its beginning. Events is nil where
	// there is none.
	Join(ctx context.Context, user conversation.UserID, sessionID string) (chat.Answer, error)
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
		Stream string `query:"stream" enum:"ui" doc:"With ui the answer is a stream of UI messages, as useChat reads it."`
		Body   chatBody
	}
	streamOutput struct {
		ContentType  string   `header:"Content-Type" hidden:"true"`
		CacheControl string   `header:"Cache-Control" hidden:"true"`
		UIStream     string   `header:"X-Vercel-Ai-Ui-Message-Stream" hidden:"true"`
		Buffering    string   `header:"X-Accel-Buffering" hidden:"true"`
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
	register(s.server, op("POST /v1/chat", "chat", "Chat", "Chat, streaming",
		"Stores the user's message, builds the prompt and streams the model's answer: one event prompt, events "+
			"token, then exactly one event done, or error with a problem. A repeat with the same Idempotency-Key gets "+
			"the same events with the stored text. While the first request runs, a repeat is a conflict with "+
			"Retry-After. The whole answer is stored even if the client disconnects. A user who has spent the tokens of "+
			"the day, where there is a daily limit, or has as many answers under way as may be at once, gets 429 with "+
			"Retry-After, and nothing is stored. With stream=ui the answer is a UI message stream of the AI SDK: the "+
			"chunks start, data-prompt, text-start, text-delta, text-end and finish, or error with the problem's detail.",
	).or(http.StatusNotFound, http.StatusConflict).
		streams("text/event-stream", chatExample, chatEventSchema), s.start)
	s.registerJoin()
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
		return nil, errTooLong
	}
	idem := in.idempotency(in.Body)
	if !idem.Set() {
		idem.Key = "unnamed-" + rand.Text() // so that the answer can be joined
	}
	ctx, cancel := detached(ctx)
	request := filled[chat.Request](in.Body)
	request.Idempotency = idem
	answer, err := s.chat.Start(ctx, c.User, request)
	if err != nil {
		cancel()
		return nil, err
	}
	return s.newStream(answer, in.Stream == uiStream, func(hc huma.Context, form frames) {
		defer cancel()
		s.streamEvents(ctx, hc, answer.Events, form)
	}), nil
}

// newStream returns the output that writes an answer, in the form of UI messages or in that of the API's own events.
func (s chats) newStream(answer chat.Answer, isUI bool, write func(huma.Context, frames)) *streamOutput {
	out := &streamOutput{
		ContentType: "text/event-stream", CacheControl: "no-store, no-transform",
		Replayed: newReplayed(answer.Replayed),
	}
	var form frames = &eventFrames{}
	if isUI {
		form = &uiFrames{}
		out.CacheControl, out.UIStream, out.Buffering = "no-cache, no-store, no-transform", "v1", "no"
	}
	out.Body = func(hc huma.Context) { write(hc, form) }
	return out
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
