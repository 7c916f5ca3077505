package prompt

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt/choose"
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

// sentTools has the tools as they are sent to a model's server, by name, to count their tokens.
var sentTools = func() map[string]choose.Constant {
	sent := make(map[string]choose.Constant, len(tools))
	for name, tool := range tools {
		definition, err := json.Marshal(map[string]any{"type": "function", "function": tool})
		if err != nil {
			panic(fmt.Sprintf("tool %s: %v", name, err)) // its parameters are no JSON: a mistake in the program
		}
		sent[name] = choose.Constant{ID: name, Text: string(definition)}
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
