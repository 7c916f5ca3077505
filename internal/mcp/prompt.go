package mcp

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/throughline/throughline/internal/claims"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
)

// maxBudget is the largest budget of a prompt in tokens, as in the HTTP API.
const maxBudget = 2_000_000

type promptInput struct {
	SessionID string `json:"sessionId" jsonschema:"The session that the message belongs to."`
	Message   string `json:"message" jsonschema:"The user's current message. It is not stored."`
	Tokens    *int   `json:"tokens,omitempty" jsonschema:"The budget of the whole prompt. Default: the recipe's."`
}

type promptMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type promptOutput struct {
	Notice   string          `json:"notice"`
	PromptID string          `json:"promptId"`
	System   string          `json:"system" jsonschema:"The system prompt, with what the memory holds for this message."`
	Messages []promptMessage `json:"messages" jsonschema:"The session's messages in order, and the current message."`
	Tokens   int             `json:"tokens"`
	Budget   int             `json:"budget"`
	Degraded []string        `json:"degraded,omitempty" jsonschema:"The sources that did not answer."`
}

func (h *handler) addPrompt(s *sdk.Server) {
	add(h, s, tool{
		name: "prompt_context", title: "Context of a prompt", hints: hints{repeatable: true},
		does: "The prompt that the app would send to its model for a message of a session: who the user is, what matters " +
			"of other sessions, and the session's history, within a budget of tokens. It stores the prompt's manifest. It " +
			"needs a token with the scope " + claims.ScopeApp + ", because the prompt has the app's own instructions.",
		limit: func(p map[string]*jsonschema.Schema) {
			length(p["sessionId"], 1, 128)
			length(p["message"], 1, conversation.MaxContentBytes)
			between(p["tokens"], prompt.MinBudget, maxBudget)
		},
	}, h.prompt)
}

func (h *handler) prompt(ctx context.Context, c Caller, in promptInput) (promptOutput, error) {
	if !c.App {
		return promptOutput{}, fault.Newf(fault.Forbidden,
			"prompt_context needs a token with the scope %s: use search and recent_activity with this one", claims.ScopeApp)
	}
	session, err := h.Sessions.Session(ctx, c.User, in.SessionID)
	if err != nil {
		return promptOutput{}, err
	}
	r := prompt.Request{Context: session.Context, SessionID: session.ID, Message: in.Message}
	if in.Tokens != nil {
		r.Budget = &prompt.Budget{Tokens: *in.Tokens}
	}
	built, err := h.Prompts.Build(ctx, c.User, r)
	if err != nil {
		return promptOutput{}, err
	}
	out := promptOutput{
		Notice: notice, PromptID: built.ID, System: built.System, Messages: make([]promptMessage, len(built.Messages)),
		Tokens: built.Tokens.Total, Budget: built.Tokens.Budget, Degraded: degraded(built.Manifest.Degraded),
	}
	for i, m := range built.Messages {
		out.Messages[i] = promptMessage{m.Role, m.Content}
	}
	return out, nil
}
