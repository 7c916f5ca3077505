package prompt

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
)

// Agent is the registry entry of one part that the model can play (working-context-builder). To add an agent, add an
// entry to Agents, and a file under expertise/ if it has knowledge of its own.
type Agent struct {
	ID string
	// Messages is how many of the session's last messages the agent sees (working-context-builder,
	// DEFAULT_SCOPING_CONFIGS).
	Messages int
	// Relevant, if set, selects the messages that the agent sees (working-context-builder, relevanceFilter).
	Relevant func(*conversation.Message) bool
	// Expertise names the agent's Markdown modules under expertise/, in order.
	Expertise []string
}

// DefaultAgent is the agent of requests that name none.
const DefaultAgent = "coach"

// Agents is the registry of agents.
var Agents = []Agent{
	{ID: DefaultAgent, Messages: 10, Expertise: []string{"coach"}},
	{ID: "goalArchitect", Messages: 10, Expertise: []string{"goal-architect"}},
	{ID: "patternAnalyst", Messages: 5, Expertise: []string{"pattern-analyst"}},
	{ID: "motivator", Messages: 5, Expertise: []string{"motivator"}},
	{ID: "accountabilityPartner", Messages: 10, Expertise: []string{"accountability-partner"}},
}

func findAgent(id string) (Agent, bool) {
	if id == "" {
		id = DefaultAgent
	}
	i := slices.IndexFunc(Agents, func(a Agent) bool { return a.ID == id })
	if i < 0 {
		return Agent{}, false
	}
	return Agents[i], true
}

func agentNames() string {
	names := make([]string, len(Agents))
	for i, a := range Agents {
		names[i] = a.ID
	}
	return strings.Join(names, ", ")
}

//go:embed expertise/*.md
var expertise embed.FS

// expertiseText returns the text of one module. It panics if the registry names a module without a file; a test finds
// that.
func expertiseText(name string) string {
	text, err := expertise.ReadFile("expertise/" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("expertise module %q: %v", name, err))
	}
	return strings.TrimSpace(string(text))
}

// MessageScopingStrategy selects which of a session's own messages an agent sees (working-context-builder, Technical
// Decisions 3). A recipe names one. To add one, add an entry to strategies.
type MessageScopingStrategy interface {
	// Reach is how many of the session's last relevant messages the strategy needs.
	Reach(config ScopingConfig) int
	// SelectMessages returns the selected messages, oldest first, and a text that stands for older ones, empty for
	// none. messages are oldest first, and only the user's and the assistant's.
	SelectMessages(messages []*conversation.Message, config ScopingConfig) (chosen []*conversation.Message, older string)
}

// ScopingConfig is what a strategy selects by.
type ScopingConfig struct {
	// MaxMessages is the request's or the agent's number of messages.
	MaxMessages int
	// MaxTokens limits the tokens of a token window, WindowMessages its messages. 0 does not limit.
	MaxTokens, WindowMessages int
	// Step, if set, is by how many of the session's messages a window moves that would have more than MaxMessages.
	Step int
	// Relevant, if set, reports whether a message may be selected. It filters the messages before they are limited.
	Relevant func(*conversation.Message) bool
	// Summary is the session's summary so far, or nil.
	Summary *conversation.SessionSummary
}

// The names of the strategies.
const (
	LastN       = "last-n"
	TokenWindow = "token-window"
	Compaction  = "compaction"
)

// StrategyOf returns the strategy of a name. The empty name means LastN, the specification's default.
func StrategyOf(name string) (MessageScopingStrategy, bool) {
	s, ok := strategies[cmp.Or(name, LastN)]
	return s, ok
}

// Strategies returns the names of the strategies.
func Strategies() []string { return []string{LastN, TokenWindow, Compaction} }

// strategy returns the strategy that the request names, else the recipe's.
func (o checkedRequest) strategy() MessageScopingStrategy {
	name := o.recipe.Scoping
	if o.Scoping != nil {
		name = cmp.Or(o.Scoping.Strategy, name)
	}
	s, ok := StrategyOf(name)
	if !ok {
		panic(fmt.Sprintf("recipe %s: no scoping strategy %q", o.recipe.Name, name)) // a mistake in the program
	}
	return s
}

// scopingConfig is what the strategy selects by: the agent's configuration, in which the request replaces what it
// names.
func (o checkedRequest) scopingConfig() ScopingConfig {
	c := ScopingConfig{
		MaxMessages: o.agent.Messages, MaxTokens: o.budget.tokens / 2, WindowMessages: windowMessages,
		Relevant: o.agent.Relevant,
	}
	if o.recipe.Steady && (o.Scoping == nil || o.Scoping.MaxMessages == nil) {
		c.Step = windowStep(c.MaxMessages)
	}
	if o.Scoping == nil {
		return c
	}
	if n := o.Scoping.MaxMessages; n != nil {
		c.MaxMessages, c.WindowMessages = *n, *n
	}
	if agents := o.Scoping.AgentIDs; agents != nil {
		c.Relevant = func(m *conversation.Message) bool {
			return slices.Contains(agents, cmp.Or(m.AgentID, DefaultAgent))
		}
	}
	return c
}

// tailSize is how many of the session's own messages the prompt may need.
func (o checkedRequest) tailSize() int {
	return o.strategy().Reach(o.scopingConfig()) + 1 // the current message may be stored already
}

var strategies = map[string]MessageScopingStrategy{
	LastN:       lastN{},
	TokenWindow: tokenWindow{},
	Compaction:  compaction{},
}

// lastN selects the last messages, as many as the agent sees. It is the specification's default.
type lastN struct{}

func (lastN) Reach(config ScopingConfig) int { return config.MaxMessages }

func (lastN) SelectMessages(messages []*conversation.Message, config ScopingConfig) ([]*conversation.Message, string) {
	relevant := filterMessages(messages, config.Relevant)
	if len(relevant) <= config.MaxMessages {
		return relevant, ""
	}
	return afterStep(relevant[len(relevant)-config.MaxMessages:], config.Step), ""
}

// tokenWindow selects as many of the last messages as the token limit holds, and always the last one.
type tokenWindow struct{}

// windowMessages is how many messages a token window has at most if the request does not say it.
const windowMessages = 50

func (tokenWindow) Reach(config ScopingConfig) int { return config.WindowMessages }

func (tokenWindow) SelectMessages(messages []*conversation.Message, config ScopingConfig) ([]*conversation.Message,
	string,
) {
	relevant := filterMessages(messages, config.Relevant)
	from, tokens := len(relevant), 0
	for from > 0 {
		tokens += relevant[from-1].Tokens
		full := config.MaxTokens > 0 && tokens > config.MaxTokens && from < len(relevant)
		if full || config.WindowMessages > 0 && len(relevant)-from >= config.WindowMessages {
			break
		}
		from--
	}
	return relevant[from:], ""
}

// compaction selects the last messages and lets the session's summary stand for the older ones that it covers. It also
// selects the messages between the two, as far as they were read, so that nothing is missing.
type compaction struct{}

func (compaction) Reach(config ScopingConfig) int { return 2 * config.MaxMessages }

func (compaction) SelectMessages(messages []*conversation.Message, config ScopingConfig) ([]*conversation.Message,
	string,
) {
	relevant := filterMessages(messages, config.Relevant)
	from := max(len(relevant)-config.MaxMessages, 0)
	if config.Summary == nil {
		return relevant[from:], ""
	}
	for from > 0 && relevant[from-1].Seq > config.Summary.CoveredThrough {
		from--
	}
	first := 1
	if from < len(relevant) {
		first = relevant[from].Seq
	}
	if first <= 1 {
		return relevant[from:], "" // nothing is older than what is told
	}
	return relevant[from:], config.Summary.Text
}

func filterMessages(messages []*conversation.Message, keep func(*conversation.Message) bool) []*conversation.Message {
	if keep == nil {
		return messages
	}
	var kept []*conversation.Message
	for _, m := range messages {
		if keep(m) {
			kept = append(kept, m)
		}
	}
	return kept
}

// SearchConversations is the tool behind "search before claiming ignorance": recall, called by the model.
const SearchConversations = "search_conversations"

// tools is the registry of tools. To add one, add an entry here, and its name to the recipes that offer it.
var tools = map[string]llm.Tool{
	SearchConversations: {
		Name:        SearchConversations,
		Description: "Search all of this user's conversations by a few words, before saying that you don't know or remember.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},` +
			`"required":["query"],"additionalProperties":false}`),
	},
}

// toolJSON has the tools as they are sent to a model's server, by name, to count their tokens.
var toolJSON = func() map[string]string {
	sent := make(map[string]string, len(tools))
	for name, tool := range tools {
		definition, err := json.Marshal(map[string]any{"type": "function", "function": tool})
		if err != nil {
			panic(fmt.Sprintf("tool %s: %v", name, err)) // its parameters are no JSON: a mistake in the program
		}
		sent[name] = string(definition)
	}
	return sent
}()

// recipeTools returns the definitions of a recipe's tools, an empty list if it has none.
func recipeTools(r Recipe) []llm.Tool {
	list := []llm.Tool{}
	for _, name := range r.Tools {
		list = append(list, tools[name])
	}
	return list
}
