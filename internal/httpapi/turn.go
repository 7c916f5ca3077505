package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt"
)

// TurnTaker runs turns whose answers the app's own model generates.
type TurnTaker interface {
	// BeginOwn stores the user's message and returns the prompt.
	BeginOwn(ctx context.Context, user conversation.UserID, r chat.OwnRequest) (chat.OwnTurn, error)
	// FinishOwn stores the answer.
	FinishOwn(ctx context.Context, user conversation.UserID, turnID string, a chat.OwnAnswer) (chat.OwnEnd, error)
	// StateOfOwn returns how a turn is.
	StateOfOwn(ctx context.Context, user conversation.UserID, turnID string) (chat.OwnState, error)
}

type turnBody struct {
	SessionID id           `json:"sessionId" doc:"A session of this user."`
	Message   string       `json:"message,omitempty" from:"-" doc:"The user's message, at most 256 KiB. It or messages is needed, unless replaces keeps one."`
	Messages  []newMessage `json:"messages,omitempty" from:"-" maxItems:"50" doc:"Messages to store; the last is the user's."`
	Replaces  *replaces    `json:"replaces,omitempty" doc:"What the turn takes the place of: regenerate, edit."`
	Recipe    recipeName   `json:"recipe,omitempty"`
	AgentID   agentID      `json:"agentId,omitempty"`
	Budget    *budget      `json:"budget,omitempty" doc:"Default: the recipe's budget."`
	Scoping   *scoping     `json:"scoping,omitempty" doc:"Which of the session's messages are used. Default: by agent."`
	Tools     []ownTool    `json:"tools,omitempty" from:"-" maxItems:"100" doc:"The app's own tools. They follow the prompt's."`
	Format    formatName   `json:"format,omitempty"`
}

type replaces struct {
	MessageID source `json:"messageId,omitempty" doc:"A message of the turn that is replaced, or the answer after which the new message comes."`
	AfterSeq  *int   `json:"afterSeq,omitempty" minimum:"0" maximum:"9007199254740991" doc:"All messages after it are replaced."`
}

// TransformSchema adds the rule that one of the two is set. It is for the document: the domain checks it.
// It has no anyOf, of which generators of clients make a type for each schema.
func (replaces) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	message := setSchema("messageId", map[string]any{"type": huma.TypeString})
	after := setSchema("afterSeq", map[string]any{"type": huma.TypeInteger})
	s.Extensions = map[string]any{"if": message, "then": map[string]any{"not": after}, "else": after}
	return s
}

type ownTool struct {
	Name        string `json:"name" minLength:"1" maxLength:"128" doc:"The name of the tool."`
	Description string `json:"description,omitempty" maxLength:"4096" doc:"What the tool does, for the model."`
	Parameters  object `json:"parameters,omitempty" doc:"The JSON schema of the arguments, at most 32 KiB."`
}

type finishBody struct {
	Content      string              `json:"content,omitempty" doc:"At most 256 KiB. With parts, the default is their texts."`
	Parts        []conversation.Part `json:"parts,omitempty" maxItems:"200" doc:"At most 256 KiB together with the content."`
	Usage        *ownUsage           `json:"usage,omitempty" doc:"Default: the lengths of the prompt and of the answer are charged."`
	FinishReason string              `json:"finishReason,omitempty" minLength:"1" maxLength:"64" doc:"Default: stop."`
	Model        string              `json:"model,omitempty" minLength:"1" maxLength:"200" doc:"The model that answered."`
	Failure      string              `json:"error,omitempty" minLength:"1" maxLength:"2000" doc:"Why the answer is not whole. It is not stored."`
}

type ownUsage struct {
	PromptTokens     int `json:"promptTokens,omitempty" minimum:"0" maximum:"100000000"`
	CachedTokens     int `json:"cachedTokens,omitempty" minimum:"0" maximum:"100000000"`
	CompletionTokens int `json:"completionTokens,omitempty" minimum:"0" maximum:"100000000"`
	TotalTokens      int `json:"totalTokens,omitempty" minimum:"0" maximum:"100000000"`
}

// TurnPath is the path of one turn.
type TurnPath struct {
	TurnID string `path:"turnId" doc:"The turn's id."`
}

type (
	turnInput struct {
		Idempotent
		Body turnBody
	}
	begunTurn struct {
		TurnID        string        `json:"turnId" doc:"The turn's id, with which it is finished."`
		UserMessageID string        `json:"userMessageId" doc:"The id of the user's message, which is stored."`
		Prompt        prompt.Prompt `json:"prompt" doc:"As POST /v1/prompts has it."`
	}
	finishInput struct {
		TurnPath
		Body finishBody
	}
	finishedTurn struct {
		MessageID string  `json:"messageId,omitempty" doc:"The id of the answer; absent where the turn failed without one."`
		Session   session `json:"session"`
	}
	turnState struct {
		TurnID        string `json:"turnId" doc:"The turn's id."`
		Status        string `json:"status" enum:"open,finished,interrupted" doc:"open while the app may answer, finished with the answer, interrupted without one."`
		UserMessageID string `json:"userMessageId" doc:"The id of the user's message, which is stored."`
		MessageID     string `json:"messageId,omitempty" doc:"The id of the answer of a finished turn."`
	}
)

// turns serves /v1/turns.
type turns struct {
	*server
	taker TurnTaker
}

func (s turns) register() {
	const tag = "Turns"
	register(s.server, op("POST /v1/turns", "beginTurn", tag, "Begin a turn that the app's own model answers",
		"Stores the user's message and returns the prompt for the app's own model, in one call. Quota and answers "+
			"at once are as in the chat: 429 with Retry-After stores nothing. The app ends the turn within ten minutes by "+
			"finishing it, else it is interrupted. A repeat with the same Idempotency-Key gets the same turn, with the "+
			"same prompt while the ten minutes last, and with a new one afterwards. With replaces the turn takes the place "+
			"of an earlier one, in one step. Without a message, or with the same words, the user's message is kept and "+
			"answered again; with another message it is edited. What followed goes, with what was made of it, and the "+
			"earlier turn can no longer be finished. 409 where the history is another than replaces says.",
	).forApp().answers(http.StatusCreated).or(http.StatusNotFound, http.StatusConflict), s.begin)
	registerDoc(s.server, op("POST /v1/turns/{turnId}/finish", "finishTurn", tag, "Finish a turn",
		"Stores the answer, once: a repeat, with whatever body, gets the first answer. With an error the content "+
			"is stored as interrupted; without content nothing is stored, and the turn can still be finished. The usage is "+
			"charged to the user's day. An answer that comes late is stored too, up to 24 hours after the turn began.",
	).forApp().or(http.StatusConflict), s.finish)
	registerDoc(s.server, op("GET /v1/turns/{turnId}", "getTurn", tag, "Get a turn",
		"Whether it is open, finished, or interrupted: failed without an answer, or not finished in ten minutes.",
	).forApp(), s.get)
}

func (s turns) begin(ctx context.Context, c Caller, in *turnInput) (*createdWithoutPath[begunTurn], error) {
	b := in.Body
	if b.Message != "" && len(b.Messages) > 0 || b.Message == "" && len(b.Messages) == 0 && b.Replaces == nil {
		return nil, fault.InvalidField("message", "is needed, or else messages: one of the two")
	}
	given := b.Messages
	if b.Message != "" {
		given = []newMessage{{Role: string(conversation.RoleUser), Content: b.Message, AgentID: string(b.AgentID)}}
	}
	r := filled[chat.OwnRequest](b)
	var err error
	if r.Messages, err = s.newMessages(c, given, "messages"); err != nil {
		return nil, err
	}
	r.Idempotency = in.idempotency(b)
	r.Idempotency.Key = cmp.Or(r.Idempotency.Key, "unnamed-"+rand.Text())
	if err := s.charge(ctx, c, (len(given)-1)/messagesPerWeight); err != nil {
		return nil, err
	}
	if r.Tools, err = ownTools(b.Tools); err != nil {
		return nil, err
	}
	t, err := s.taker.BeginOwn(ctx, c.User, r)
	if err != nil && b.Message != "" {
		err = fault.Renamed(err, "messages[0].content", "message")
	}
	if err != nil {
		return nil, err
	}
	return &createdWithoutPath[begunTurn]{
		Replayed: newReplayed(t.Replayed), Body: begunTurn{t.ID, t.UserMessageID, t.Prompt},
	}, nil
}

// maxToolBytes is the most that the parameters of a tool may have.
const maxToolBytes = 32 << 10

func ownTools(given []ownTool) ([]llm.Tool, error) {
	var tools []llm.Tool
	for i, g := range given {
		if g.Parameters == nil {
			g.Parameters = object{"type": "object", "properties": object{}}
		}
		parameters, err := json.Marshal(g.Parameters)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "encode tool", err)
		}
		if len(parameters) > maxToolBytes {
			return nil, fault.InvalidField(fmt.Sprintf("tools[%d].parameters", i), "has more than 32 KiB")
		}
		tools = append(tools, llm.Tool{Name: g.Name, Description: g.Description, Parameters: parameters})
	}
	return tools, nil
}

func (s turns) finish(ctx context.Context, c Caller, in *finishInput) (finishedTurn, error) {
	a := filled[chat.OwnAnswer](in.Body)
	a.Usage.TotalTokens = max(a.Usage.TotalTokens, a.Usage.PromptTokens+a.Usage.CompletionTokens)
	end, err := s.taker.FinishOwn(ctx, c.User, in.TurnID, a)
	out := finishedTurn{Session: shown[session](end.Session)}
	if end.Answer != nil {
		out.MessageID = end.Answer.ID
	}
	return out, fault.Renamed(err, "messages[0].", "")
}

func (s turns) get(ctx context.Context, c Caller, in *TurnPath) (turnState, error) {
	state, err := s.taker.StateOfOwn(ctx, c.User, in.TurnID)
	return turnState{in.TurnID, state.Status, state.UserMessageID, state.MessageID}, err
}
