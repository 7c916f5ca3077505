package prompt

import (
	"fmt"
	"strings"
	"unicode"
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

// goesOn stands at the end of a text that was cut.
const goesOn = "…"

// shortened is at most n characters of a text that is longer, with a sign that it goes on.
func shortened(text string, n int) string {
	return strings.TrimRight(cutRunes(text, n-1), " \t\r\n") + goesOn
}

// excerpt is a text in one line of at most n characters, with a sign where it goes on.
func excerpt(text string, n int) string {
	line := oneLine(clean(text))
	if len(cutRunes(line, n)) == len(line) {
		return line
	}
	return shortened(line, n)
}

// capChars cuts an entry's text to its block's characters, and notes it.
func capChars(e *entry, c Cap) *entry {
	if c.Chars == 0 {
		return e
	}
	cut := cutRunes(e.text, c.Chars)
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
