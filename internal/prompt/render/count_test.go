package render_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/prompt/render"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/token"
)

// tokens is the real tokenizer, built once.
var tokens = token.New()

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
			if i > 0 && render.IsBoundary(before, after) {
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

// A boundary is after a letter that nothing of its word follows, and before a space that ends a word.
func TestBoundaries(t *testing.T) {
	t.Parallel()
	for pair, want := range map[string]bool{
		"t ": true, "t\n": true, "t.": true, "t5": true, "t’": true, "t'": false, "to": false, "e\u0301": false,
		"\u093c ": true, ". ": true, "5 ": true, "  ": false, "\n ": false, ".\n": false, "..": false,
	} {
		runes := []rune(pair)
		check.Equal(t, want, render.IsBoundary(runes[0], runes[len(runes)-1]), "%q", pair)
	}
}

// A text in its frame has as many tokens as its count and its edges say, and never more: also if a frame has no prefix
// and the text joins the line feed before it, and if the text has no boundary at one of its ends.
func TestFramedTextsAreCounted(t *testing.T) {
	t.Parallel()
	words, signs := strings.Repeat("some more words ", 10)+"here", strings.Repeat("=", 150)
	for _, body := range []string{
		words, words + ".", signs + words, words + signs, signs, "/help " + words, "/help", " " + words, "   " + words,
		"\r\n\t\r\n" + words, "can't " + words + " can't",
	} {
		for _, frame := range [][2]string{{"", ""}, {"", "\n"}, {"", "\n\n"}, {"-", "\n"}, {"[User 18:05]", "\n"}} {
			space := ""
			if frame[0] != "" {
				space = " "
			}
			whole := frame[0] + space + body + frame[1]
			least, most := tokens.Count(whole), tokens.Count(whole)
			if frame[0] == "" && frame[1] != "" { // it begins a line
				least = tokens.Count("]\n"+whole) - tokens.Count("]\n")
				most = max(least, most) + 2
			}
			if got := render.Framed(tokens, frame[0], body, frame[1]); got < least || got > most {
				t.Errorf("%q and %.20q: %d tokens, not %d to %d", frame, body, got, least, most)
			}
		}
	}
}
