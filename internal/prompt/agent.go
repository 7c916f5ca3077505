package prompt

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
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

func agentOf(id string) (Agent, bool) {
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
func module(name string) string {
	text, err := expertise.ReadFile("expertise/" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("expertise module %q: %v", name, err))
	}
	return strings.TrimSpace(string(text))
}
