package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
)

// Prompter builds prompts and gives back those that were kept.
type Prompter interface {
	Build(ctx context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error)
	Get(ctx context.Context, user conversation.UserID, promptID string) (prompt.Record, error)
	// List lists the prompts of one session, or of all where sessionID is empty, newest first.
	List(ctx context.Context, user conversation.UserID, sessionID string, page conversation.Page) ([]prompt.Record, conversation.Position, error)
}

type promptBody struct {
	Recipe     string      `json:"recipe,omitempty" minLength:"1" maxLength:"128" doc:"How it is built; unified where absent."`
	Context    surfaceName `json:"context" doc:"The surface on which the user stands."`
	SessionID  id          `json:"sessionId"`
	CoachID    id          `json:"coachId,omitempty" doc:"The session's where absent."`
	AgentID    string      `json:"agentId,omitempty" minLength:"1" maxLength:"128" doc:"The part that the model plays; coach where absent."`
	Message    string      `json:"message" minLength:"1" doc:"The user's current message, 1 byte to 256 KiB; never cut."`
	MessageID  string      `json:"messageId,omitempty" minLength:"1" maxLength:"1024" doc:"Names the current message where it is stored already."`
	Timezone   string      `json:"timezone,omitempty" minLength:"1" maxLength:"100" doc:"An IANA name; the user's preference where absent."`
	Budget     *budget     `json:"budget,omitempty" doc:"The recipe's where absent."`
	SystemRole string      `json:"systemRole,omitempty" minLength:"1" maxLength:"65536" doc:"Stands in for the recipe's or the coach's own role text."`
}

type budget struct {
	Tokens int `json:"tokens" minimum:"256" maximum:"2000000"`
}

type (
	promptInput  struct{ Body promptBody }
	promptOutput struct{ Body prompt.Prompt }
	promptPath   struct {
		PromptID string `path:"promptId" doc:"The prompt's id."`
	}
	recordOutput struct{ Body prompt.Record }
	promptsInput struct {
		ListInput
		SessionID id `query:"sessionId" doc:"Only prompts of this session."`
	}
)

// prompts serves /v1/prompts.
type prompts struct {
	*server
	prompter Prompter
}

func (p prompts) register() {
	const tag = "Prompts"
	register(p.server, operation{
		method: http.MethodPost, path: "/v1/prompts", id: "buildPrompt", tag: tag, scope: ScopeApp,
		summary: "Build a prompt", errors: []int{http.StatusNotFound},
		detail: "The messages end with the current message, once. A message that cannot fit the budget is invalid, " +
			"and the error names the budget and the need. The manifest says of every item whether it went in, and why.",
	}, p.build)
	register(p.server, operation{
		method: http.MethodGet, path: "/v1/prompts/{promptId}", id: "getPrompt", tag: tag, scope: ScopeApp,
		summary: "Get a prompt", detail: "With the rendered text where that is kept.",
	}, p.get)
	register(p.server, operation{
		method: http.MethodGet, path: "/v1/prompts", id: "listPrompts", tag: tag, scope: ScopeApp,
		summary: "List prompts", detail: "Newest first, without manifests and texts.",
	}, p.list)
}

func (p prompts) build(ctx context.Context, c Caller, in *promptInput) (*promptOutput, error) {
	b := in.Body
	if len(b.Message) > conversation.MaxContentBytes {
		return nil, fault.InvalidField("message", fmt.Sprintf("has more than %d bytes", conversation.MaxContentBytes))
	}
	r := prompt.Request{
		Recipe: b.Recipe, Context: string(b.Context), SessionID: string(b.SessionID), CoachID: string(b.CoachID),
		AgentID: b.AgentID, Message: b.Message, MessageID: b.MessageID, Timezone: b.Timezone, SystemRole: b.SystemRole,
	}
	if b.Budget != nil {
		r.Budget = &prompt.Budget{Tokens: b.Budget.Tokens}
	}
	built, err := p.prompter.Build(ctx, c.User, r)
	if err != nil {
		return nil, err
	}
	return &promptOutput{Body: built}, nil
}

func (p prompts) get(ctx context.Context, c Caller, in *promptPath) (*recordOutput, error) {
	if !plausibleID(in.PromptID) {
		return nil, fault.Missing("prompt")
	}
	kept, err := p.prompter.Get(ctx, c.User, in.PromptID)
	if err != nil {
		return nil, err
	}
	return &recordOutput{Body: kept}, nil
}

func (p prompts) list(ctx context.Context, c Caller, in *promptsInput) (*listOutput[prompt.Record], error) {
	page, bound, err := p.page(c, in.ListInput, true)
	if err != nil {
		return nil, err
	}
	found, next, err := p.prompter.List(ctx, c.User, string(in.SessionID), page)
	if err != nil {
		return nil, err
	}
	return listed(p.server, bound, found, next, func(r prompt.Record) prompt.Record { return r }), nil
}
