package scoping_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/scoping"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestStrategies(t *testing.T) {
	t.Parallel()
	var messages []*conversation.Message
	for i := range 20 {
		messages = append(messages,
			&conversation.Message{ID: fmt.Sprint(i + 1), Seq: i + 1, Tokens: 10, Role: conversation.RoleUser})
	}
	covered := func(through int) *conversation.SessionSummary {
		return &conversation.SessionSummary{Text: "what came before", CoveredThrough: through}
	}
	even := func(m *conversation.Message) bool { return m.Seq%2 == 0 }
	tests := map[string]struct {
		strategy    string
		config      scoping.Config
		first, size int
		older       string
	}{
		"last n":                       {scoping.LastN, scoping.Config{MaxMessages: 5}, 16, 5, ""},
		"last n, relevant":             {scoping.LastN, scoping.Config{MaxMessages: 5, Relevant: even}, 12, 5, ""},
		"last n of few":                {scoping.LastN, scoping.Config{MaxMessages: 50}, 1, 20, ""},
		"window":                       {scoping.TokenWindow, scoping.Config{MaxTokens: 75}, 14, 7, ""},
		"window, relevant":             {scoping.TokenWindow, scoping.Config{MaxTokens: 30, Relevant: even}, 16, 3, ""},
		"window smaller than the last": {scoping.TokenWindow, scoping.Config{MaxTokens: 5}, 20, 1, ""},
		"window for all":               {scoping.TokenWindow, scoping.Config{}, 1, 20, ""},
		"none named":                   {"", scoping.Config{MaxMessages: 5}, 16, 5, ""},
		"compaction": {
			scoping.Compaction,
			scoping.Config{MaxMessages: 5, Summary: covered(18)},
			16,
			5, "what came before",
		},
		"compaction leaves no gap": {
			scoping.Compaction,
			scoping.Config{MaxMessages: 5, Summary: covered(10)},
			11,
			10, "what came before",
		},
		"compaction without a summary": {scoping.Compaction, scoping.Config{MaxMessages: 5}, 16, 5, ""},
		"compaction of nothing older": {
			scoping.Compaction,
			scoping.Config{MaxMessages: 30, Summary: covered(20)},
			1,
			20, "",
		},
		"compaction, nothing is beyond": {
			scoping.Compaction,
			scoping.Config{MaxMessages: 5, Summary: covered(0)},
			1, 20,
			"",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			strategy, ok := scoping.Find(tt.strategy)
			if !ok {
				t.Fatal("no such strategy")
			}
			got, older := strategy.Select(messages, tt.config)
			if len(got) != tt.size || got[0].Seq != tt.first || older != tt.older {
				t.Errorf("%d messages from %d, older %q", len(got), got[0].Seq, older)
			}
			if !slices.IsSortedFunc(got, func(a, b *conversation.Message) int { return a.Seq - b.Seq }) {
				t.Error("not in order")
			}
		})
	}
}

// TestStep says by how many messages windows move. A large one keeps almost half of its messages.
func TestStep(t *testing.T) {
	t.Parallel()
	for window, want := range map[int]int{1: 0, 2: 0, 5: 4, 9: 8, 10: 8, 12: 8, 20: 12, 50: 26} {
		check.Equal(t, want, scoping.Step(window), "a window of %d moves by", window)
	}
}
