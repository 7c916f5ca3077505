package truncate

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// Sentences returns the sentences of a text in any script, each without the spaces around it (Unicode Standard Annex
// 29, "Sentence Boundaries").
func Sentences(text string) []string {
	var out []string
	for _, s := range SentencesAt(text) {
		out = append(out, strings.TrimSpace(s))
	}
	return out
}

// SentencesAt returns the sentences of a text with the places of their first bytes. They have the spaces after them.
func SentencesAt(text string) iter.Seq2[int, string] {
	return func(yield func(at int, sentence string) bool) {
		for tokens := sentences.FromString(text); tokens.Next(); {
			if s := tokens.Value(); strings.TrimSpace(s) != "" && !yield(tokens.Start(), s) {
				return
			}
		}
	}
}

// Prose cuts a text that has more than n characters to at most n. It ends after a whole sentence where that leaves more
// than half of n, otherwise after a word, and where there is none after a character. A cut within a sentence is marked
// with an ellipsis.
func Prose(text string, n int) string {
	if len(Runes(text, n)) == len(text) {
		return text
	}
	whole := Runes(text, n)
	end := 0
	for tokens := sentences.FromString(text); tokens.Next() && tokens.End() <= len(whole)+1; {
		// A space after the sentence counts as a part of it and may be cut.
		if len(strings.TrimRight(text[:tokens.End()], " ")) <= len(whole) {
			end = tokens.End()
		}
	}
	if kept := strings.TrimRight(text[:end], " "); utf8.RuneCountInString(kept) > n/2 {
		return kept
	}
	cut := Runes(text, n-1)
	if space := strings.LastIndexByte(cut, ' '); utf8.RuneCountInString(cut[:max(space, 0)]) > n/2 {
		cut = cut[:space]
	}
	return strings.TrimRight(cut, " ") + ellipsis
}
