package offlinemodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// searchTool is the tool that prompts offer for finding older conversations (design 2).
const searchTool = "search_conversations"

// aboutPast is how people ask for what was before.
var aboutPast = regexp.MustCompile(`(?i)\b(did (i|we|you)|have i|had i|was i|were we|what (was|were)|when (did|was)|remember|remind me what|last (time|week|month|year)|before|earlier|previous(ly)?|ago|(i|we) (said|told|talked|discussed|mentioned|decided|agreed)|told you|as we|like we|ever|back when|where we left)\b`)

// callTool decides whether the answer is a call of a tool: one that the request demands, or a search for something past
// that the prompt does not tell. There is never a second search for one question.
func (s *server) callTool(request *chatRequest, p prompt, known bool) *toolCall {
	choice := request.ToolChoice
	switch {
	case len(request.Tools) == 0 || choice.mode == "none" || p.searched:
		return nil
	case choice.function != "":
		return s.newCall(request.tool(choice.function), p.query)
	case choice.mode == "required" && request.tool(searchTool) == nil:
		return s.newCall(&request.Tools[0], p.query)
	case choice.mode == "required", !known && request.tool(searchTool) != nil && aboutPast.MatchString(p.query):
		return s.newCall(request.tool(searchTool), p.query)
	default:
		return nil
	}
}

// newCall fills a tool's parameters: texts with the words of the question that matter, the rest with the least allowed.
func (s *server) newCall(t *tool, query string) *toolCall {
	words := s.searchWords(query)
	parameters, err := parseSchema(t.Function.Parameters)
	if err != nil {
		parameters = &schema{Type: typeList{"object"}, Properties: map[string]*schema{"query": {Type: typeList{"string"}}}}
	}
	hint := func(name string, _ *schema) any {
		if name == "query" {
			return words
		}
		return nil
	}
	value := newInstance(parameters, hint).value(parameters, map[string]any{}, 0)
	arguments, err := json.Marshal(value)
	if err != nil {
		panic(err) // an instance holds only JSON values
	}
	return &toolCall{
		ID:       fmt.Sprintf("call_%016x", hash(t.Function.Name+"\x00"+query)),
		Type:     "function",
		Function: functionCall{Name: t.Function.Name, Arguments: string(arguments)},
	}
}

// searchWords are the question's words that carry a topic, or the whole question when none does.
func (s *server) searchWords(query string) string {
	const longest = 300
	var words []string
	for _, w := range splitWords(query) {
		if !s.lex.stop[w.lower] && w.kind != vocativeWord {
			words = append(words, query[w.start:w.end])
		}
	}
	if len(words) == 0 {
		return clip(oneLine(query), longest)
	}
	return clip(strings.Join(words, " "), longest)
}
