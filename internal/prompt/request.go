package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/provider"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/prompt/render"
	"github.com/throughline/throughline/internal/prompt/scoping"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/registry"
)

// Budget limits a prompt. Tokens is at least MinBudget.
type Budget struct {
	Tokens int `json:"tokens"`
}

// MinBudget is the smallest budget that a request may name.
const MinBudget = 256

// MaxScopedMessages is the greatest MaxMessages of a request.
const MaxScopedMessages = 200

// Scoping is the configuration of one call (working-context-builder, MessageScopingConfig and selectMessages): which of
// the session's messages are recent_messages. What it does not name stays as the recipe and the agent have it.
type Scoping struct {
	// Strategy is one of package scoping; empty means the recipe's.
	Strategy string `json:"strategy,omitempty"`
	// MaxMessages is how many messages are selected, 1 to MaxScopedMessages; nil means the agent's number, and for a
	// token window as many as fit.
	MaxMessages *int `json:"maxMessages,omitempty"`
	// AgentIDs is the relevance filter: only messages of these agents are selected, the user's messages to them
	// included. A message without an agent is the default agent's. As in the specification, the filter runs over the
	// session's messages first, and the last MaxMessages of those that it lets through are taken. It looks through the
	// session's last gather.MaxFiltered messages. Nil means the agent's own filter.
	AgentIDs []string `json:"agentIds,omitempty"`
}

// Request asks for one prompt. It is the body of POST /v1/prompts.
type Request struct {
	// Recipe names the way to build the prompt; empty means Unified.
	Recipe string `json:"recipe,omitempty"`
	// Context and SessionID name the conversation.
	Context   string `json:"context"`
	SessionID string `json:"sessionId"`
	// CoachID is the persona; empty means the session's.
	CoachID string `json:"coachId,omitempty"`
	// AgentID is the part that the model plays; empty means coach.
	AgentID string `json:"agentId,omitempty"`
	// Message is the user's current message, 1 byte to 256 KiB. It is never cut.
	Message string `json:"message"`
	// MessageID names the current message if it is stored already, so that the prompt has it once. It must be a
	// message of the user in this session, with Message as its content.
	MessageID string `json:"messageId,omitempty"`
	// Timezone is an IANA name; empty means the user's preference.
	Timezone string `json:"timezone,omitempty"`
	// Budget is the token budget of the whole prompt, the current message included; nil means the recipe's.
	Budget *Budget `json:"budget,omitempty"`
	// SystemRole replaces the recipe's or the coach's own role text.
	SystemRole string `json:"systemRole,omitempty"`
	// Scoping replaces the recipe's and the agent's scoping of the session's messages; nil leaves it as it is.
	Scoping *Scoping `json:"scoping,omitempty"`
	// Format is one of provider.Formats, in which the prompt is written, too. Empty is none.
	Format string `json:"format,omitempty"`

	// SkipSave leaves saving the prompt to the caller, who encodes it with NewStoredPrompt. Ahead is what the caller
	// knows already; nil is nothing. HTTP callers can't set them.
	SkipSave bool   `json:"-"`
	Ahead    *Ahead `json:"-"`
}

// Ahead is what the caller of a prompt knows before it is built, so that the search need not wait for it. Nothing of it
// decides what the prompt may tell.
type Ahead struct {
	// Embedding is that of SearchText. With nil the search embeds the message.
	Embedding *recall.Embedding `json:"embedding,omitempty"`
	// Generation is the user's generation as the caller's session has it. The search asks the index with it, and with the
	// preferences that most users have, and asks again if the user's records say otherwise.
	Generation int64 `json:"generation"`
}

// Invocation is a direct invocation of the prompt function: the request and its user. The coach function sets
// SkipSave, because it saves the prompt while the model generates.
//
// While a release is deployed, coach and prompt are of different versions. Later versions may add optional fields here
// and to Prompt, and nothing else. The reader of each leaves out what it does not know.
type Invocation struct {
	// IgnoreUnknown leaves out fields that the function does not know. The coach function sets it. Without it they are
	// errors, so that a typing error of another caller is found.
	IgnoreUnknown bool `json:"ignoreUnknown,omitempty"`

	UserID   conversation.UserID `json:"userId"`
	SkipSave bool                `json:"skipSave,omitempty"`
	Ahead    *Ahead              `json:"ahead,omitempty"`
	Request
}

// Message is one role message of a prompt.
type Message = render.Message

// Tokens is what a prompt takes of its budget. Total counts what the model is sent, in the tokens of its family: the
// contents of system and messages, or text if there is one, and the definitions of the tools. It is never less than
// the tokenizer's count of these. Total is at most Budget, except that context-format's default budget excludes the
// current message.
type Tokens struct {
	Total  int `json:"total" doc:"The tokens of the whole prompt."`
	Budget int `json:"budget" doc:"How many tokens the prompt may have."`
}

// Prompt is one model call's prompt, with the record of how it was built. Messages ends with the current message,
// which it contains once. In unified the message before it is one of the system, with the volatile suffix, once the
// session has messages.
type Prompt struct {
	ID        string    `json:"promptId" doc:"The id of the prompt."`
	SessionID string    `json:"sessionId" doc:"The id of the session."`
	Recipe    string    `json:"recipe" doc:"The name of the recipe."`
	System    string    `json:"system" doc:"The system text."`
	Messages  []Message `json:"messages" doc:"The messages, oldest first."`
	Text      string    `json:"text,omitempty" doc:"The one payload of context-format, which replaces system and messages."`
	// Tools are what the model is offered, an empty list for none.
	Tools    []llm.Tool `json:"tools" doc:"The tools that the model may call."`
	Tokens   Tokens     `json:"tokens"`
	Manifest Manifest   `json:"manifest"`
	// Model is the chat model that the coach's record names; empty means the configured one.
	Model string `json:"model,omitempty" doc:"The model that is asked. Absent where the default is."`
	// Forms has the same prompt in the format of the request.
	provider.Forms
}

// SearchText is the text that a recipe's prompt searches for: a part of the message. It is empty for a recipe that
// does not search.
func SearchText(recipe, message string) string {
	if r, ok := findRecipe(recipe); !ok || r.Reads.Hits == 0 {
		return ""
	}
	return query.Part(message)
}

// checkedRequest is a valid request with the registry entries that it names.
type checkedRequest struct {
	Request
	recipe     Recipe
	agent      registry.Agent
	appContext conversation.AppContext
	// zone is the requested time zone, or nil for the user's preference.
	zone   *time.Location
	budget pack.Cost
}

// check validates a request and reports all wrong fields together.
func check(r Request) (checkedRequest, error) {
	o := checkedRequest{Request: r}
	var wrong fault.Problems
	var ok bool
	o.agent, ok = registry.Live().Agent(r.AgentID)
	wrong.If(!ok, "agentId", agentRule())
	var err error
	o.appContext, err = conversation.AppContextOf(r.Context)
	wrong.If(err != nil, "context", oneOf(conversation.Contexts()))
	o.recipe, ok = findRecipe(cmp.Or(r.Recipe, o.appContext.Recipe))
	wrong.If(!ok, "recipe", recipeRule())
	wrong.If(!conversation.ValidID(r.SessionID), "sessionId", idRule)
	wrong.If(r.CoachID != "" && !conversation.ValidID(r.CoachID), "coachId", idRule)
	n := len(r.Message)
	wrong.If(n < 1 || n > conversation.MaxContentBytes || !utf8.ValidString(r.Message),
		"message", "must be 1 byte to 256 KiB of UTF-8")
	wrong.If(!utf8.ValidString(r.SystemRole), "systemRole", "must be UTF-8")
	if r.Timezone != "" {
		o.zone, err = calendar.Zone(r.Timezone)
		wrong.If(err != nil, "timezone", "must be an IANA time zone such as Europe/Berlin")
	}
	wrong.If(r.Format != "" && !slices.Contains(provider.Formats(), r.Format), "format", oneOf(provider.Formats()))
	if r.Scoping != nil {
		r.Scoping.check(&wrong)
	}
	o.budget = o.recipe.Budget
	if r.Budget != nil {
		o.budget.Tokens = r.Budget.Tokens
		o.recipe.MessageExcluded = false
		wrong.If(r.Budget.Tokens < MinBudget, "budget.tokens", fmt.Sprintf("must be at least %d", MinBudget))
	}
	return o, wrong.Err()
}

const idRule = "must be 1 to 128 of A-Z a-z 0-9 _ . : -"

func oneOf(names []string) string { return "must be one of " + strings.Join(names, ", ") }

// check refuses unknown strategies and agents, and a number of messages out of bounds.
func (s *Scoping) check(wrong *fault.Problems) {
	_, ok := scoping.Find(s.Strategy)
	wrong.If(!ok, "scoping.strategy", oneOf(Strategies()))
	n := s.MaxMessages
	wrong.If(n != nil && (*n < 1 || *n > MaxScopedMessages),
		"scoping.maxMessages", fmt.Sprintf("must be from 1 to %d", MaxScopedMessages))
	wrong.If(s.AgentIDs != nil && len(s.AgentIDs) == 0, "scoping.agentIds", "must name at least one agent")
	for i, id := range s.AgentIDs {
		_, ok := registry.Live().Agent(id)
		wrong.If(!ok || id == "", fmt.Sprintf("scoping.agentIds[%d]", i), agentRule())
	}
}

// Strategies returns the names of the strategies that a request may name.
func Strategies() []string { return scoping.Names() }

// roomiest returns the recipe of a name. Without a name the session's context decides, which is not read yet: it is the
// recipe of the contexts' that takes the longest message.
func roomiest(name string) (Recipe, bool) {
	r, ok := findRecipe(name)
	if name != "" {
		return r, ok
	}
	for _, appContext := range conversation.AppContexts() {
		other, _ := findRecipe(appContext.Recipe)
		if other.MessageExcluded || !r.MessageExcluded && other.Budget.Tokens > r.Budget.Tokens {
			r = other
		}
	}
	return r, true
}

// CheckTurn refuses a turn for which no session could get a prompt, before anything is stored: an unknown recipe, agent
// or scoping, or a message that alone has more tokens than the budget. Its error is Invalid, with the fields.
func CheckTurn(r Request, messageTokens int) error {
	var wrong fault.Problems
	recipe, ok := roomiest(r.Recipe)
	wrong.If(!ok, "recipe", recipeRule())
	_, known := registry.Live().Agent(r.AgentID)
	wrong.If(!known, "agentId", agentRule())
	if r.Scoping != nil {
		r.Scoping.check(&wrong)
	}
	budget, excluded := recipe.Budget.Tokens, recipe.MessageExcluded
	if r.Budget != nil {
		budget, excluded = r.Budget.Tokens, false
	}
	wrong.If(ok && !excluded && messageTokens > budget, "message", fmt.Sprintf(
		"does not fit: the budget is %d tokens, and the message alone needs %d", budget, messageTokens))
	return wrong.Err()
}

// usualRole is how many tokens the role and what else is never dropped of a prompt usually have at most.
const usualRole = 1500

// IsTight reports whether a request's message leaves so little of its budget that only building the prompt shows
// whether it fits. Its error is that of an invalid request.
func IsTight(r Request, messageTokens int) (bool, error) {
	o, err := check(r)
	return !o.recipe.MessageExcluded && o.budget.Tokens-messageTokens < usualRole, err
}
