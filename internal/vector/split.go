package vector

import (
	"strings"
	"unicode/utf8"
)

// Split cuts a text into parts that can be embedded. A part ends at white space if there is any in its last tenth.
func Split(text string) []string {
	var parts []string
	for {
		end := maxPartEnd(text)
		if end == len(text) {
			return append(parts, text)
		}
		if space := strings.LastIndexAny(text[:end], " \n\t"); space > end*9/10 {
			end = space + 1
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
}

// maxPartEnd is the last byte at which the first part of a text may end.
func maxPartEnd(text string) int {
	chars := 0
	for i, r := range text {
		if chars == MaxTextChars || i+utf8.RuneLen(r) > MaxEmbeddedBytes {
			return i
		}
		chars++
	}
	return len(text)
}
