package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/registry"
)

// DefaultAgent returns the id of the agent of requests that name none.
func DefaultAgent() string { return registry.Live().Agents[0].ID }

func agentNames() string {
	var names []string
	for _, a := range registry.Live().Agents {
		names = append(names, a.ID)
	}
	return strings.Join(names, ", ")
}

// isHeard returns the filter of the messages that an agent sees, nil if it sees all (working-context-builder,
// relevanceFilter).
func isHeard(by registry.Agent) func(*conversation.Message) bool {
	if len(by.Hears) == 0 {
		return nil
	}
	return func(m *conversation.Message) bool { return slices.Contains(by.Hears, string(m.Role)) }
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
