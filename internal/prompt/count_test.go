package prompt_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/prompt"
)

// The counts of the text before and after a boundary add up to the count of the whole text.
func TestTokenCountsAddUpAtBoundaries(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"can't", "I'VE", "she’ll", "doesn", "international", "e\u0301", "दौड़", "膝盖", "2026", "5", " ", "  ", "\t", "\n",
		".", "!?", "'", "-", "/", "(", "😀",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "pieces"), "")
		var before rune
		for i, after := range text {
			if i > 0 && prompt.IsBoundary(before, after) {
				if parts, whole := tokens.Count(text[:i])+tokens.Count(text[i:]), tokens.Count(text); parts != whole {
					t.Fatalf("%q and %q have %d tokens apart and %d together", text[:i], text[i:], parts, whole)
				}
			}
			before = after
		}
	})
}

// A line feed does not join the text that follows it, unless that text begins with white space or a slash.
func TestTokenCountsAddUpAtLines(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"word", "word.", "...", "2026", "(", "😀", "\\"} {
		for _, second := range []string{"word", "- word", "[User 18:05] x", "#", "1.", "'s", "…", "(", "膝盖", "\\#", "*"} {
			parts, whole := tokens.Count(first+"\n")+tokens.Count(second), tokens.Count(first+"\n"+second)
			if parts != whole {
				t.Errorf("%q and %q have %d tokens apart and %d together", first+"\n", second, parts, whole)
			}
		}
	}
}
