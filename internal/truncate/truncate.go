// Package truncate shortens text without splitting a character.
package truncate

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Bytes returns the longest beginning of text that has at most n bytes and ends between two characters.
func Bytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// LastBytes returns the longest end of text that has at most n bytes and begins with a whole character.
func LastBytes(text string, n int) string {
	from := len(text) - min(max(n, 0), len(text))
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// Runes returns the first n characters of text, or all of it where it has fewer.
func Runes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n <= 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// ellipsis ends a text that was cut.
const ellipsis = "…"

// Ellipsis cuts a text that has more than n characters to at most n, the ellipsis at its end included.
func Ellipsis(text string, n int) string {
	if len(Runes(text, n)) == len(text) {
		return text
	}
	return strings.TrimRight(Runes(text, n-1), " \t\r\n") + ellipsis
}

// Part returns the bytes from..to of a text, without the spaces around them, and with an ellipsis at each end where
// something is left out.
func Part(text string, from, to int) string {
	part := strings.TrimSpace(text[from:to])
	if from > 0 {
		part = ellipsis + part
	}
	if to < len(text) {
		part += ellipsis
	}
	return part
}

// middleMark replaces the middle of a text that was cut out.
const middleMark = " […] "

// Middle cuts the middle out of a text that has more than n characters: it returns its beginning and its end, of at
// most n characters with the mark between them. The beginning is twice as long as the end.
func Middle(text string, n int) string { return MiddleBut(text, n, nil) }

// MiddleBut is Middle that keeps parts of the middle, which are together shorter than n.
func MiddleBut(text string, n int, kept []string) string {
	if len(Runes(text, n)) == len(text) {
		return text
	}
	middle := strings.Join(slices.Concat([]string{""}, kept, []string{""}), middleMark)
	rest := max(0, n-utf8.RuneCountInString(middle))
	tail := rest / 3
	return strings.TrimRight(Runes(text, rest-tail), " ") + middle + strings.TrimLeft(lastRunes(text, tail), " ")
}

func lastRunes(text string, n int) string {
	from := len(text)
	for range n {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	return text[from:]
}
