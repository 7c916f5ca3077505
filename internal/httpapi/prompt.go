package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm/provider"
	"github.com/throughline/throughline/internal/prompt"
)

// Prompter builds prompts and returns the stored ones.
type Prompter interface {
	Build(ctx context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error)
	Get(ctx context.Context, user conversation.UserID, promptID string) (prompt.Record, error)
	// List lists the prompts of one session, or of all sessions if sessionID is empty. The newest comes first.
	List(ctx context.Context, user conversation.UserID, sessionID string, page conversation.Page) (
		[]prompt.Record, conversation.Position, error)
}

// errTooLong is the error of a message that is longer than any that can be stored.
var errTooLong = fault.InvalidField("message", fmt.Sprintf("has more than %d bytes", conversation.MaxContentBytes))

type promptBody struct {
	Recipe     recipeName  `json:"recipe,omitempty"`
	Context    contextName `json:"context" doc:"The context that the user is in."`
	SessionID  id          `json:"sessionId" doc:"The id of the session."`
	CoachID    id          `json:"coachId,omitempty" doc:"Default: the session's coach."`
	AgentID    agentID     `json:"agentId,omitempty"`
	Message    string      `json:"message" minLength:"1" doc:"The current message, at most 256 KiB."`
	MessageID  string      `json:"messageId,omitempty" minLength:"1" maxLength:"1024" doc:"Its id, if it is stored."`
	Timezone   zoneName    `json:"timezone,omitempty" doc:"An IANA name. Default: the user's preference."`
	Budget     *budget     `json:"budget,omitempty" doc:"Default: the recipe's budget."`
	SystemRole string      `json:"systemRole,omitempty" minLength:"1" maxLength:"65536" doc:"Replaces the role text."`
	Scoping    *scoping    `json:"scoping,omitempty" doc:"Which of the session's messages are used. Default: by agent."`
	Format     formatName  `json:"format,omitempty"`
}

// formatName is the name of a provider's format.
type formatName string

// Schema lists the formats.
func (formatName) Schema(huma.Registry) *huma.Schema {
	s := oneOfSchema("The provider's format in which the answer has the prompt, too. Default: none.", provider.Formats())
	s.Examples = []any{provider.FormatChat}
	return s
}

type budget struct {
	Tokens int `json:"tokens" minimum:"256" maximum:"2000000"`
}

type scoping struct {
	Strategy    strategyName `json:"strategy,omitempty"`
	MaxMessages *int         `json:"maxMessages,omitempty" minimum:"1" maximum:"200" doc:"Default: the agent's number."`
	AgentIDs    []scopedID   `json:"agentIds,omitempty" minItems:"1" maxItems:"50" doc:"Only messages of these agents."`
}

type (
	promptInput struct{ Body promptBody }
	promptPath  struct {
		PromptID string `path:"promptId" doc:"The prompt's id."`
	}
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
	registerDoc(p.server, op("POST /v1/prompts", "buildPrompt", tag, "Build a prompt",
		"Scoping says which of the session's messages are used. Its filter by agent runs over the session's last "+
			"1,000 messages before the last maxMessages of them are taken. "+
			"The messages end with the current message, once: a message that is appended already is named by messageId. "+
			"In unified a system message with what changes each turn is in "+
			"front of it once the session has messages; what comes before is kept the same from turn to turn, and the "+
			"manifest marks those blocks as cacheable. A message that does not fit the budget is invalid, and the "+
			"error names the budget and the need. The manifest says for every item whether it is included, and why. With a "+
			"format the answer also has the property of that format, which a provider's library takes as it is: openaiChat, "+
			"openaiResponses, anthropic, bedrockConverse or parts. They have no empty lists. Where a provider takes no late "+
			"system message, it is a text between the tags <app-context> and </app-context> at the beginning of the user's "+
			"next message.",
	).forApp().or(http.StatusNotFound), p.build)
	registerDoc(p.server, op("GET /v1/prompts/{promptId}", "getPrompt", tag, "Get a prompt",
		"With the rendered text, if it was stored.",
	).forApp(), p.get)
	registerDoc(p.server, op("GET /v1/prompts", "listPrompts", tag, "List prompts",
		"Newest first, without manifests and texts.",
	).forApp(), p.list)
}

func (p prompts) build(ctx context.Context, c Caller, in *promptInput) (prompt.Prompt, error) {
	if len(in.Body.Message) > conversation.MaxContentBytes {
		return prompt.Prompt{}, errTooLong
	}
	return p.prompter.Build(ctx, c.User, filled[prompt.Request](in.Body))
}

func (p prompts) get(ctx context.Context, c Caller, in *promptPath) (prompt.Record, error) {
	if !plausibleID(in.PromptID) {
		return prompt.Record{}, fault.Missing("prompt")
	}
	return p.prompter.Get(ctx, c.User, in.PromptID)
}

func (p prompts) list(ctx context.Context, c Caller, in *promptsInput) (list[prompt.Record], error) {
	return listed(p.server, c, in.ListInput, true, asIs,
		func(page conversation.Page) ([]prompt.Record, conversation.Position, error) {
			return p.prompter.List(ctx, c.User, string(in.SessionID), page)
		})
}
