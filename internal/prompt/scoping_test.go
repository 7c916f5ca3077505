package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
)

// scope makes every recipe use a strategy until the returned function is called. Its tests do not run in parallel.
func scope(strategy string) (restore func()) {
	before := prompt.Recipes
	prompt.Recipes = slices.Clone(before)
	for i := range prompt.Recipes {
		prompt.Recipes[i].Scoping = strategy
	}
	return func() { prompt.Recipes = before }
}

func drawStrategy(t *rapid.T) string {
	return rapid.SampledFrom([]string{prompt.LastN, prompt.TokenWindow, prompt.Compaction}).Draw(t, "strategy")
}

func TestScopingStrategies(t *testing.T) {
	t.Parallel()
	var messages []*conversation.Message
	for i := range 20 {
		messages = append(messages,
			&conversation.Message{ID: fmt.Sprint(i + 1), Seq: i + 1, Tokens: 10, Role: conversation.User})
	}
	covered := func(through int) *conversation.SessionSummary {
		return &conversation.SessionSummary{Text: "what came before", CoveredThrough: through}
	}
	even := func(m *conversation.Message) bool { return m.Seq%2 == 0 }
	tests := map[string]struct {
		strategy    string
		config      prompt.ScopingConfig
		first, size int
		older       string
	}{
		"last n":                       {prompt.LastN, prompt.ScopingConfig{MaxMessages: 5}, 16, 5, ""},
		"last n, relevant":             {prompt.LastN, prompt.ScopingConfig{MaxMessages: 5, Relevant: even}, 12, 5, ""},
		"last n of few":                {prompt.LastN, prompt.ScopingConfig{MaxMessages: 50}, 1, 20, ""},
		"window":                       {prompt.TokenWindow, prompt.ScopingConfig{MaxTokens: 75}, 14, 7, ""},
		"window, relevant":             {prompt.TokenWindow, prompt.ScopingConfig{MaxTokens: 30, Relevant: even}, 16, 3, ""},
		"window smaller than the last": {prompt.TokenWindow, prompt.ScopingConfig{MaxTokens: 5}, 20, 1, ""},
		"window for all":               {prompt.TokenWindow, prompt.ScopingConfig{}, 1, 20, ""},
		"none named":                   {"", prompt.ScopingConfig{MaxMessages: 5}, 16, 5, ""},
		"compaction": {
			prompt.Compaction,
			prompt.ScopingConfig{MaxMessages: 5, Summary: covered(18)},
			16,
			5, "what came before",
		},
		"compaction leaves no gap": {
			prompt.Compaction,
			prompt.ScopingConfig{MaxMessages: 5, Summary: covered(10)},
			11,
			10, "what came before",
		},
		"compaction without a summary": {prompt.Compaction, prompt.ScopingConfig{MaxMessages: 5}, 16, 5, ""},
		"compaction of nothing older": {
			prompt.Compaction,
			prompt.ScopingConfig{MaxMessages: 30, Summary: covered(20)},
			1,
			20, "",
		},
		"compaction, nothing is beyond": {
			prompt.Compaction,
			prompt.ScopingConfig{MaxMessages: 5, Summary: covered(0)},
			1, 20,
			"",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			strategy, ok := prompt.StrategyOf(tt.strategy)
			if !ok {
				t.Fatal("no such strategy")
			}
			got, older := strategy.SelectMessages(messages, tt.config)
			if len(got) != tt.size || got[0].Seq != tt.first || older != tt.older {
				t.Errorf("%d messages from %d, older %q", len(got), got[0].Seq, older)
			}
			if !slices.IsSortedFunc(got, func(a, b *conversation.Message) int { return a.Seq - b.Seq }) {
				t.Error("not in order")
			}
		})
	}
}

// With compaction in its entry, a recipe tells what the session's summary covers by the summary, and no message falls
// into the gap between the two, as far back as twice the agent's messages. (unified has its transcripts for both.)
func TestRecipesWithCompaction(t *testing.T) {
	defer scope(prompt.Compaction)()
	for recipe, summary := range map[string]func(prompt.Prompt) string{
		prompt.WorkingContext: func(p prompt.Prompt) string {
			return sectionOf(p.System,
				"## Earlier In This Conversation\n")
		},
		prompt.BlockMap: func(p prompt.Prompt) string {
			return strings.Join(systemBlock(t, p,
				"LATEST SESSION SUMMARY: "), "\n")
		},
	} {
		for covered, first := range map[int]int{22: 23, 28: 26, 5: 20} {
			w := newFixture()
			r := talkative(w, 30, "motivator")
			r.Recipe = recipe
			summarize(&w.user("u").sessions[0], "They compared bands.").Summary.CoveredThrough = covered
			w.timelineLag = 1 // so that the messages come from the tail, of which no more is read than is needed
			p := build(t, w.service(now), "u", r)
			if got := ownMessages(p); got[0] != fmt.Sprintf("message %d", max(first, 20)) || got[len(got)-1] != "next" {
				t.Errorf("%s, %d covered: tells %q", recipe, covered, got)
			}
			if got := summary(p); got != "They compared bands." {
				t.Errorf("%s, %d covered: the older messages read as %q", recipe, covered, got)
			}
		}
	}
}

// With a token window in its entry, a recipe tells as many of the last messages as half of the budget holds.
func TestRecipesWithTokenWindow(t *testing.T) {
	defer scope(prompt.TokenWindow)()
	for _, recipe := range []string{prompt.WorkingContext, prompt.Unified, prompt.BlockMap} {
		for budget, size := range map[int]int{400: 10, 4000: 51} {
			w := newFixture()
			r := talkative(w, 80, "motivator")
			for i := range w.user("u").messages {
				w.user("u").messages[i].Tokens = 20
			}
			w.timelineLag = 1 // so that the messages come from the tail
			r.Recipe, r.Budget = recipe, &prompt.Budget{Tokens: budget}
			p := build(t, w.service(now), "u", r)
			if got := ownMessages(p); len(got) != size+1 || got[0] != fmt.Sprintf("message %d", 81-size) {
				t.Errorf("%s, budget %d: tells %q", recipe, budget, got)
			}
		}
	}
}

// An agent sees what its filter lets through, as many messages as it may, however far apart they are.
func TestAgentsFilterWhatIsRelevant(t *testing.T) {
	before := prompt.Agents
	t.Cleanup(func() { prompt.Agents = before })
	prompt.Agents = append(slices.Clone(before), prompt.Agent{
		ID: "listener", Messages: 4, Relevant: func(m *conversation.Message) bool { return m.Role == conversation.User },
	})
	w := newFixture()
	r := talkative(w, 30, "listener")
	w.timelineLag = 1 // so that the messages come from the tail
	p := build(t, w.service(now), "u", r)
	if got := ownMessages(p); !slices.Equal(got,
		[]string{"message 23", "message 25", "message 27", "message 29", "next"}) {
		t.Errorf("the listener hears %q", got)
	}
}

// ownMessages are the contents of a prompt's user and assistant messages.
func ownMessages(p prompt.Prompt) []string {
	var contents []string
	for _, m := range p.Messages {
		if m.Role != "system" {
			contents = append(contents, m.Content)
		}
	}
	return contents
}

// sectionOf is what stands under a heading, up to the next blank line.
func sectionOf(system, heading string) string {
	_, text, _ := strings.Cut(system, heading)
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}
