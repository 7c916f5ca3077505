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
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/untrusted"
)

const (
	// toolTokens limits the contents that one search returns to the model, out of the best toolHits messages. A message
	// longer than toolChars is cut to the part around a word of the query.
	toolTokens = 1500
	toolHits   = 40
	toolChars  = 1200
)

// search answers one tool call with what recall finds, as JSON. When the search fails, the answer says so.
func (g *generation) search(ctx context.Context, call llm.ToolCall) string {
	var arguments struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil || strings.TrimSpace(arguments.Query) == "" {
		return `{"error":"the argument query must be a text"}`
	}
	limit := toolHits
	found, err := g.Recall.Messages(ctx, g.user, recall.MessageQuery{
		Query: arguments.Query, SessionID: g.turn.Session.ID, Limit: &limit,
	})
	if err != nil {
		g.Report(ctx, "search conversations", err)
		return `{"error":"the search is not available now"}`
	}
	return g.renderFound(arguments.Query, found)
}

// renderFound writes the messages that a search found as JSON, so that their contents can only be values. They are made
// safe as in a prompt. Times are to the minute. Stored system messages are left out.
func (g *generation) renderFound(query string, found recall.Messages) string {
	type line struct {
		When    string `json:"when"`
		Context string `json:"context"`
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	lines, used := make([]line, 0, len(found.Messages)), 0
	for _, m := range found.Messages {
		if m.Role == conversation.RoleSystem {
			continue
		}
		content, tokens := untrusted.BreakTokens(untrusted.Clean(around(query, m.Content))), m.Tokens
		if content != m.Content {
			tokens = g.Tokens.Count(content)
		}
		if used+tokens > toolTokens && len(lines) > 0 {
			continue // shorter messages may still fit
		}
		used += tokens
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
