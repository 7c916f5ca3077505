package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// cutRunes shortens a text to at most n characters.
func cutRunes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	count := 0
	for i := range text {
		if count == n {
			return text[:i]
		}
		count++
	}
	return text
}

// cutBytes and lastBytes take at most n bytes of a text from its beginning or its end, whole characters only.
func cutBytes(text string, n int) string {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:min(n, len(text))]
}

func lastBytes(text string, n int) string {
	from := max(len(text)-n, 0)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// excerpt is a text in one line of at most n characters, with a sign where it goes on.
func excerpt(text string, n int) string {
	line := oneLine(clean(text))
	cut := cutRunes(line, n)
	if len(cut) == len(line) {
		return line
	}
	return strings.TrimSpace(cutRunes(line, n-1)) + "…"
}

// capChars cuts an entry's text to its block's characters, and notes it.
func capChars(e *entry, chars int) *entry {
	if chars == 0 {
		return e
	}
	if cut := cutRunes(e.text, chars); len(cut) < len(e.text) {
		e.text, e.tokens = cut, 0
		e.cut = fmt.Sprintf("cut to %d characters", chars)
	}
	return e
}

// trimEnd takes the line feeds off a section's end.
func trimEnd(text string) string { return strings.TrimRight(text, "\n") }
