package prompt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
)

// goesOn stands at the end of a text that was cut.
const goesOn = "…"

// shortened is at most n characters of a text that is longer, with a sign that it goes on.
func shortened(text string, n int) string {
	return strings.TrimRight(truncate.Runes(text, n-1), " \t\r\n") + goesOn
}

// excerpt is a text in one line of at most n characters, with a sign where it goes on.
func excerpt(text string, n int) string {
	line := oneLine(clean(text))
	if len(truncate.Runes(line, n)) == len(line) {
		return line
	}
	return shortened(line, n)
}

// capChars cuts an entry's text to its block's characters, and notes it.
func capChars(e *entry, c Cap) *entry {
	if c.Chars == 0 {
		return e
	}
	cut := truncate.Runes(e.text, c.Chars)
	if len(cut) == len(e.text) {
		return e
	}
	if !c.Sliced {
		cut = shortened(e.text, c.Chars)
	}
	e.text, e.tokens = cut, 0
	e.cut = fmt.Sprintf("cut to %d characters", c.Chars)
	return e
}

// says reports whether a reader sees anything of a stored text once it is clean.
func says(text string) bool {
	if r, _ := utf8.DecodeRuneInString(text); unicode.IsLetter(r) || unicode.IsDigit(r) {
		return true // as nearly every text begins; cleaning takes longer
	}
	text = clean(text)
	return shownAt(text) < len(text)
}

// trimEnd takes the line feeds off a section's end.
func trimEnd(text string) string { return strings.TrimRight(text, "\n") }
