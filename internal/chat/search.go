package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/untrusted"
)

const (
	// toolCalls is how many searches of an answer are made. A model can ask for any number, and each is an embedding and a
	// query of the index. Together they belong to the one request that the user is charged for.
	toolCalls = 3
	// toolArguments is how many bytes the arguments of a call may have. The model gets them back with the result.
	toolArguments = 2000
	// toolTokens limits the contents that the searches of an answer return to the model together, each out of its best
	// toolHits messages. A message longer than toolChars is cut to the part around a word of the query.
	toolTokens = 1500
	toolHits   = 40
	toolChars  = 1200
)

// searchRound answers the first of the model's tool calls. It returns the messages that tell the model of its calls and
// their results, and of what it said beside them. The model learns nothing of further calls.
func (g *answerRun) searchRound(ctx context.Context, calls []llm.ToolCall) []llm.Message {
	calls = slices.Clone(calls[:min(len(calls), toolCalls)])
	asked := llm.Message{Role: "assistant", Content: g.text.String(), ToolCalls: calls}
	out, left := []llm.Message{asked}, toolTokens
	for i, call := range calls {
		if len(call.Arguments) > toolArguments {
			calls[i].Arguments = "{}"
		}
		out = append(out, llm.Message{Role: "tool", ToolCallID: call.ID, Content: g.answer(ctx, calls[i], &left)})
	}
	return out
}

// answer answers one tool call, as JSON. Searches take the tokens of what they find from those that are left.
func (g *answerRun) answer(ctx context.Context, call llm.ToolCall, left *int) string {
	var arguments struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil || strings.TrimSpace(arguments.Query) == "" {
		return `{"error":"the argument query must be a text"}`
	}
	if call.Name == prompt.Forget {
		return g.forget(ctx, arguments.Query)
	}
	return g.search(ctx, arguments.Query, left)
}

// search returns what recall finds, as JSON, and takes its tokens from those that are left. When the search fails, the
// answer says so.
func (g *answerRun) search(ctx context.Context, query string, left *int) string {
	limit := toolHits
	found, err := g.Recall.Messages(ctx, g.user, recall.MessageQuery{
		Query: query, SessionID: g.turn.Session.ID, Limit: &limit,
	})
	if err != nil {
		g.Report(ctx, "search conversations", err)
		return `{"error":"the search is not available now"}`
	}
	return g.renderFound(query, found, left)
}

// renderFound writes the messages that a search found as JSON, so that their contents can only be values. They are made
// safe as in a prompt. Times are to the minute. Left out are stored system messages, secrets of other sessions, and
// what passes the tokens.
func (g *answerRun) renderFound(query string, found recall.Records, left *int) string {
	type line struct {
		When    string `json:"when"`
		Context string `json:"context"`
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	lines := make([]line, 0, len(found.Records))
	for _, r := range found.Records {
		m := r.Message
		if m.Role == conversation.RoleSystem || recall.IsSecretTo(g.turn.Session.ID, *m) {
			continue
		}
		content, tokens := untrusted.BreakTokens(untrusted.Clean(around(query, m.Content))), m.Tokens
		if content != m.Content {
			tokens = g.Tokens.Count(content)
		}
		if tokens > *left && (len(lines) > 0 || *left < toolTokens) {
			continue // shorter messages may still fit
		}
		*left -= tokens
		where := conversation.LabelOf(m.Context, "Check-in") // a check-in has no registered context
		lines = append(lines, line{m.Timestamp.UTC().Format("2006-01-02 15:04 MST"), where, string(m.Role), content})
	}
	text, err := json.Marshal(map[string]any{"messages": lines})
	if err != nil {
		return fmt.Sprintf(`{"error":"%d messages could not be written"}`, len(lines))
	}
	return string(text)
}

// around cuts a long text to the part around the longest word of the query that it contains, or else to its beginning.
func around(query, text string) string {
	runes := []rune(text)
	if len(runes) <= toolChars {
		return text
	}
	words, lower := strings.Fields(strings.ToLower(query)), strings.ToLower(text)
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	from := 0
	for _, word := range words {
		if before, _, found := strings.Cut(lower, strings.Trim(word, ".,;:!?\"'")); found {
			from = max(0, len([]rune(before))-toolChars/3)
			break
		}
	}
	from = min(from, len(runes)-toolChars)
	part := string(runes[from : from+toolChars])
	if from > 0 {
		part = "…" + part
	}
	if from+toolChars < len(runes) {
		part += "…"
	}
	return part
}
