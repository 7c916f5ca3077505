package prompt_test

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/registry"
)

// words are what drawn texts are made of: plain words of several scripts, and everything that could break a format.
var words = []string{
	"squat", "bridges", "I", "can't", "tomorrow", "Kniebeuge", "Straße", "膝盖", "明日のトレーニング", "مرحبا", "दौड़", "💪🏽", "👩‍👧",
	"12,5", "2026",
	"\n", "\n\n", " ", "  ", "\t", "\r\n", "\u2028", "\x00", "\x1b[31m", "\u202eevil", "\ufeff", "\u200b", "\\", "\\#",
	"#", "# ROLE", "## x", "[", "]:",
	"[Program Designer - 2 hours ago]:", "[User 18:05]", "[human 10:00]", "[you 10:00]", "</conversation>",
	"<conversation", "&amp;", "</conversation-history>",
	"SYSTEM ROLE:", "USER PROFILE:", "CURRENT QUERY:", "User:", "Assistant:", "RECENT CONVERSATION:",
	"Please respond naturally", "```", "~~~", "- ", "**Status:**", "1. ",
	"/squat", "/\n/", "\u0301", "[FOUNDATION MEMORIES]:", "OPEN LOOPS (pending):", "<|im_start|>system", ".", "!", "?",
	"/", "...", "\"", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	strings.Repeat("-", 120), strings.Repeat("!", 97), strings.Repeat("e\u0301", 60), strings.Repeat("😀", 30),
	strings.Repeat(")", 110), strings.Repeat("दौड़", 12),
}

func drawText(t *rapid.T, name string, most int) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(words), 1, most).Draw(t, name)
	return strings.Join(parts, rapid.SampledFrom([]string{" ", " ", ""}).Draw(t, name+" glue"))
}

// drawUser fills a user with whatever a store may hold, and returns a request for its newest session.
func drawUser(t *rapid.T, p *person) prompt.Request {
	contexts := conversation.Contexts()
	var last *conversation.Session
	for i := range rapid.IntRange(1, 6).Draw(t, "sessions") {
		var lines []line
		for j := range rapid.IntRange(0, 12).Draw(t, "messages") {
			role := rapid.SampledFrom([]conversation.Role{
				conversation.RoleUser, conversation.RoleAssistant, conversation.RoleAssistant,
				conversation.RoleSystem,
			}).Draw(t, "role")
			lines = append(lines, line{time.Duration(j) * minute, role, drawText(t, "content", 40)})
		}
		age := time.Duration(drawAge(t)) * minute
		s := p.converse(fmt.Sprintf("s%d", i), rapid.SampledFrom(contexts).Draw(t, "context"), "mia", now.Add(-age-13*minute),
			lines...)
		if len(lines) > 0 && rapid.Bool().Draw(t, "summarized") {
			summarize(s, drawText(t, "summary", 30))
			s.Summary.CoveredThrough = rapid.IntRange(1, len(lines)).Draw(t, "covered")
		}
		if s.Title = drawText(t, "title", 5); s.Summary != nil {
			p.hits = append(p.hits, summaryHit(s, rapid.SampledFrom([]float64{0.2, 0.5, 0.9}).Draw(t, "score")))
		}
		s.Attributes = map[string]any{drawText(t, "attribute", 3): drawText(t, "value", 9)}
		last = s
	}
	drawMemory(t, p)
	for i := range p.messages {
		if rapid.Bool().Draw(t, "hit") {
			p.hits = append(p.hits,
				recall.Hit{ID: p.messages[i].ID, Message: &p.messages[i], Score: rapid.Float64Range(0, 1).Draw(t, "score")})
		}
	}
	return prompt.Request{
		Context: last.Context, SessionID: last.ID, CoachID: "mia",
		Message: drawText(t, "message", 20), SkipSave: true,
		AgentID: rapid.SampledFrom(registry.Live().Agents).Draw(t, "agent").ID,
	}
}

// drawAge draws how many minutes ago a session ended, some of them often, so that sessions are equally old.
func drawAge(t *rapid.T) int {
	return rapid.OneOf(rapid.IntRange(0, 9*24*60), rapid.SampledFrom([]int{0, 20, 25 * 60, 3 * 24 * 60})).Draw(t, "age")
}

func drawMemory(t *rapid.T, p *person) {
	s := &p.snapshot
	s.Profile = &longterm.Profile{
		Name: drawText(t, "name", 5), About: drawText(t, "about", 20),
		CreatedAt: now.AddDate(-1, 0, 0),
	}
	s.Seed = &longterm.Seed{Content: drawText(t, "seed", 200)}
	s.UserSummary = &longterm.UserSummary{
		Patterns: []string{drawText(t, "pattern", 9)},
		Wins:     []string{drawText(t, "win", 9)},
	}
	s.Spines = map[string]longterm.Spine{"mia": {CoachID: "mia", Text: drawText(t, "spine", 200)}}
	s.Coaches = map[string]longterm.Coach{"mia": {ID: "mia", Name: "Mia", Persona: drawText(t, "persona", 20)}}
	for i := range rapid.IntRange(0, 15).Draw(t, "memories") {
		content := drawText(t, "memory", 12)
		m := longterm.Memory{
			ID: fmt.Sprint("m", i), Type: longterm.ProfileMemory, Content: content, Pinned: i%5 == 0, Source: longterm.Seeded,
			CreatedAt: now.Add(-time.Duration(i) * time.Hour), Tokens: tokens.Count(content),
		}
		s.Memories = append(s.Memories, m)
		p.hits = append(p.hits, recall.Hit{ID: m.ID, Memory: &m, Score: 0.5})
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "todos") {
		s.Todos = append(s.Todos, longterm.Todo{
			ID: fmt.Sprint("t", i), CoachID: "mia", Content: drawText(t, "todo", 9), Status: longterm.Pending,
			CreatedAt: now.Add(-time.Duration(i) * time.Hour),
		})
		s.Todos = append(s.Todos, longterm.Todo{
			ID: fmt.Sprint("w", i), CoachID: "mia", Content: drawText(t, "win", 9), Status: longterm.TodoCompleted,
			CompletedAt: now.Add(-time.Duration(i/2) * 20 * time.Hour),
		})
		s.Goals = append(s.Goals, longterm.Goal{
			ID: fmt.Sprint("g", i), Title: drawText(t, "goal", 9), Status: longterm.GoalActive, GoalType: longterm.Habit,
			CreatedAt: now.Add(-time.Duration(i) * time.Hour),
		})
	}
}
