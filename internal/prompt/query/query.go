// Package query reads from the user's current message what its prompt needs: what kind of question it is, its keywords,
// and whether it refers to an earlier conversation.
package query

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/word"
)

var (
	greetingWords = regexp.MustCompile(`(?i)^\W*(?:hi|hey|hello|good (?:morning|afternoon|evening|night)|thanks?` +
		`|thank you|ok(?:ay)?|bye|great|cool|yo)\b`)
	pastWords = regexp.MustCompile(`(?i)\b(?:remember|did (?:i|we|you)|have (?:i|we)|when did|what did` +
		`|last (?:time|week|month)|yesterday|earlier|previously)\b`)
	generalWords = regexp.MustCompile(`(?i)^\W*(?:what(?:'s| is| are)|who(?:'s| is| are)|how (?:do|does|is|are` +
		`|many|much)|why (?:do|does|is|are)|define|explain)\b`)
	aboutUser = regexp.MustCompile(`(?i)\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|us|our)\b`)
)

// IsGreeting reports whether a message is a greeting, which needs nothing of the past (maas-context-format, backlog
// v0.5).
func IsGreeting(message string) bool {
	text := truncate.Bytes(message, maxBytes)
	return greetingWords.MatchString(text) && len(strings.Fields(text)) <= 4 || word.IsCourtesy(message)
}

// IsGeneral reports whether a message asks about the world and not about the user or the past.
func IsGeneral(message string) bool {
	text := truncate.Bytes(message, maxBytes)
	if !generalWords.MatchString(text) || aboutUser.MatchString(text) || pastWords.MatchString(text) {
		return false
	}
	_, refers := FindReference(message)
	return !refers && !IsGreeting(message)
}

// maxBytes is how much of a message is searched for, and how much of it is looked through for words.
const maxBytes = 6000

// Part returns the part of a long message that is searched for: half from its beginning, half from its end.
func Part(message string) string { return ends(message, maxBytes) }

// ends returns the beginning and the end of a text that has more than n bytes.
func ends(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return truncate.Bytes(text, n/2) + "\n" + truncate.LastBytes(text, n/2)
}

// Keywords returns the distinct words of a text that carry meaning, sorted.
func Keywords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(truncate.Bytes(text, maxBytes)), isSeparator)
	words = slices.DeleteFunc(words, func(w string) bool {
		return len(w) < minKeywordBytes || slices.Contains(commonWords, w)
	})
	slices.Sort(words)
	return slices.Compact(words)
}

// isSeparator reports whether a character is between words.
func isSeparator(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

// Shared is the share of a message's keywords that a text contains.
func Shared(asked []string, text string) float64 {
	if len(asked) == 0 {
		return 0
	}
	words, shared := Keywords(text), 0
	for _, word := range asked {
		if _, found := slices.BinarySearch(words, word); found {
			shared++
		}
	}
	return float64(shared) / float64(len(asked))
}

// minKeywordBytes is the length of the shortest keyword.
const minKeywordBytes = 4

// commonWords carry no meaning of their own.
var commonWords = strings.Fields(`about after again against also been before being between both could does doing done
during each from have having here into just like more most much only other over same should some such than that their
them then there these they this those through under until very want wants wanted was were what when where which while
will with would your yours user users mentioned discussed assistant coach said asked told because`)
