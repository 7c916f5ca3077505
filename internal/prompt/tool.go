package prompt

import (
	"encoding/json"
	"fmt"

	"github.com/throughline/throughline/internal/llm"
)

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
var sentTools = func() map[string]string {
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
func toolsOf(r Recipe) []llm.Tool {
	var list []llm.Tool
	for _, name := range r.Tools {
		list = append(list, tools[name])
	}
	return list
}
