package prompt

import (
	"encoding/json"

	"github.com/throughline/throughline/internal/llm"
)

// SearchConversations is the tool that makes "search before claiming ignorance" possible: recall, by the model.
const SearchConversations = "search_conversations"

var tools = map[string]llm.Tool{
	SearchConversations: {
		Name: SearchConversations,
		Description: "Search everything this user has said and been told, in all conversations and screens. " +
			"Use it before saying that you don't know or remember something.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string",` +
			`"description":"What to look for, in a few words, with the names and terms the user would have used."}},` +
			`"required":["query"],"additionalProperties":false}`),
	},
}

// toolsOf returns the definitions of a recipe's tools.
func toolsOf(r Recipe) []llm.Tool {
	var list []llm.Tool
	for _, name := range r.Tools {
		list = append(list, tools[name])
	}
	return list
}
