package prompt

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/registry"
)

// DefaultAgent returns the id of the agent of requests that name none.
func DefaultAgent() string { return registry.Live().Agents[0].ID }

func agentRule() string {
	var names []string
	for _, a := range registry.Live().Agents {
		names = append(names, a.ID)
	}
	return oneOf(names)
}

// isHeard returns the filter of the messages that an agent sees, nil if it sees all (working-context-builder,
// relevanceFilter).
func isHeard(by registry.Agent) func(*conversation.Message) bool {
	if len(by.Hears) == 0 {
		return nil
	}
	return func(m *conversation.Message) bool { return slices.Contains(by.Hears, string(m.Role)) }
}

// SearchConversations is the tool for "search before claiming ignorance": recall, called by the model.
const SearchConversations = "search_conversations"

// Forget is the tool by which the chat forgets what the user asks to forget, and gets a receipt. It is offered where
// the message may ask for it.
const Forget = "forget"

// tools is the registry of tools. To add one, add an entry here, and its name to the recipes that offer it.
var tools = map[string]llm.Tool{
	SearchConversations: {
		Name:        SearchConversations,
		Description: "Search all of this user's conversations by a few words, before saying that you don't know or remember.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},` +
			`"required":["query"],"additionalProperties":false}`),
	},
	Forget: {
		Name: Forget,
		Description: "Forget one fact about the user, if the user plainly asks for it in the last message. " +
			"query: the fact in a few words, as the user or the prompt has it.",
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

// toolNames returns the names of the tools that a request's model is offered: those of the recipe, and in the chat the
// one that forgets, where the message may ask for it.
func (o checkedRequest) toolNames() []string {
	if o.Ahead == nil || len(o.recipe.Tools) == 0 || !conversation.AsksToForget(o.Message) {
		return o.recipe.Tools
	}
	return append(slices.Clone(o.recipe.Tools), Forget)
}

// toolsOf returns the definitions of tools, an empty list for none.
func toolsOf(names []string) []llm.Tool {
	list := []llm.Tool{}
	for _, name := range names {
		if tool, ok := tools[name]; ok {
			list = append(list, tool)
		}
	}
	return list
}
