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

// Agent is the registry entry of one part that the model can play (working-context-builder). A new agent is one entry
// in Agents, and a file under expertise/ where it has something of its own to know.
type Agent struct {
	ID string
	// Messages is how many of the session's last messages it sees (working-context-builder, DEFAULT_SCOPING_CONFIGS).
	Messages int
	// Relevant, where set, lets a message through to it (working-context-builder, relevanceFilter).
	Relevant func(*conversation.Message) bool
	// Expertise names its Markdown modules under expertise/, in the order in which they are told.
	Expertise []string
}

// DefaultAgent plays where a request names none.
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

// module returns the text of one expertise module. A name in the registry without a file is a mistake in the program,
// which the package's tests find.
func expertiseText(name string) string {
	text, err := expertise.ReadFile("expertise/" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("expertise module %q: %v", name, err))
	}
	return strings.TrimSpace(string(text))
}

// MessageScopingStrategy chooses which of a session's own messages an agent sees (working-context-builder, Technical
// Decisions 3). A recipe names one; to add one is to add an entry to strategies.
type MessageScopingStrategy interface {
	// Reach is how many of the session's last messages the strategy has to be given.
	Reach(agent Agent) int
	// SelectMessages returns the chosen messages, oldest first, and a text that stands for older ones, empty for
	// none. messages are oldest first, user's and assistant's only.
	SelectMessages(messages []*conversation.Message, config ScopingConfig) (chosen []*conversation.Message, older string)
}

// ScopingConfig is what a strategy chooses by.
type ScopingConfig struct {
	// MaxMessages is the agent's number of messages, MaxTokens what they may take together.
	MaxMessages, MaxTokens int
	// Relevant, where set, lets a message through.
	Relevant func(*conversation.Message) bool
	// Summary is what the session came to so far, nil where there is no summary.
	Summary *conversation.SessionSummary
}

// The names of the strategies.
const (
	LastN       = "last-n"
	TokenWindow = "token-window"
	Compaction  = "compaction"
)

// StrategyOf returns the strategy of a name; an empty one means LastN, the specification's default.
func StrategyOf(name string) (MessageScopingStrategy, bool) {
	s, ok := strategies[cmp.Or(name, LastN)]
	return s, ok
}

// strategy returns the strategy that a recipe names.
func (r Recipe) strategy() MessageScopingStrategy {
	s, ok := StrategyOf(r.Scoping)
	if !ok {
		panic(fmt.Sprintf("recipe %s: no scoping strategy %q", r.Name, r.Scoping)) // a mistake in the program
	}
	return s
}

var strategies = map[string]MessageScopingStrategy{
	LastN:       lastN{},
	TokenWindow: tokenWindow{},
	Compaction:  compaction{},
}

// lastN is the specification's default: the last messages, as many as the agent sees.
type lastN struct{}

func (lastN) Reach(agent Agent) int { return reachOf(agent, agent.Messages) }

func (lastN) SelectMessages(messages []*conversation.Message, config ScopingConfig) ([]*conversation.Message, string) {
	relevant := filterMessages(messages, config.Relevant)
	return relevant[max(len(relevant)-config.MaxMessages, 0):], ""
}

// tokenWindow takes as many of the last messages as the tokens hold, however many they are, and always the last one.
type tokenWindow struct{}

// windowReach is how many messages a window is looked for in.
const windowReach = 50

func (tokenWindow) Reach(Agent) int { return windowReach }

func (tokenWindow) SelectMessages(messages []*conversation.Message, config ScopingConfig) ([]*conversation.Message, string) {
	relevant := filterMessages(messages, config.Relevant)
	from, tokens := len(relevant), 0
	for from > 0 {
		tokens += max(relevant[from-1].Tokens, 1)
		if config.MaxTokens > 0 && tokens > config.MaxTokens && from < len(relevant) {
			break
		}
		from--
	}
	return relevant[from:], ""
}

// compaction takes the last messages and lets the session's summary stand for the older ones that it covers. Messages
// between the two are told as well, as far as they were read, so that nothing falls into the gap.
type compaction struct{}

func (compaction) Reach(agent Agent) int { return reachOf(agent, 2*agent.Messages) }

func (compaction) SelectMessages(messages []*conversation.Message, config ScopingConfig) ([]*conversation.Message, string) {
	relevant := filterMessages(messages, config.Relevant)
	from := max(len(relevant)-config.MaxMessages, 0)
	if config.Summary == nil || config.Summary.Text == "" {
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

// reachOf reads further back for an agent that leaves messages out.
func reachOf(agent Agent, n int) int {
	if agent.Relevant != nil {
		return 2 * n
	}
	return n
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

// SearchConversations is the tool that makes "search before claiming ignorance" possible: recall, by the model.
const SearchConversations = "search_conversations"

// tools is the registry of tools: to add one is to add an entry here, and its name to the recipes that offer it.
var tools = map[string]llm.Tool{
	SearchConversations: {
		Name:        SearchConversations,
		Description: "Search all of this user's conversations by a few words, before saying that you don't know or remember.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},` +
			`"required":["query"],"additionalProperties":false}`),
	},
}

// sentTools are the tools as a model's server is sent them, by name.
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

// toolsOf returns the definitions of a recipe's tools.
func recipeTools(r Recipe) []llm.Tool {
	var list []llm.Tool
	for _, name := range r.Tools {
		list = append(list, tools[name])
	}
	return list
}
