package conversation

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/word"
)

//go:embed urgent.txt
var urgentText string

// urgentPhrases are the lines of urgent.txt, folded.
var urgentPhrases = sync.OnceValue(func() []string { return readPhrases(urgentText) })

//go:embed forget.txt
var forgetText string

// forgetPhrases are the lines of forget.txt, folded.
var forgetPhrases = sync.OnceValue(func() []string { return readPhrases(forgetText) })

// urgentBytes is how much of a message is searched for the phrases.
const urgentBytes = 4_000

func readPhrases(text string) []string {
	var phrases []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			phrases = append(phrases, word.Fold(line))
		}
	}
	return phrases
}

// IsUrgent reports whether a message of the user plainly states something that has to be remembered at once, as an
// allergy is. It decides when the message is read for memories, and never whether.
func IsUrgent(content string) bool {
	var own []string
	for _, phrase := range registry.Live().UrgentPhrases {
		own = append(own, word.Fold(phrase))
	}
	return hasPhrase(content, urgentPhrases(), own)
}

// The part of a sentence that is looked at for the phrases at a time, and how much of it the next one begins with.
const urgentPart, urgentOverlap = 400, 80

// UrgentParts returns the sentences of a message, in any place, that state something urgent, of at most n bytes
// together. Of a long sentence they have the part.
func UrgentParts(content string, n int) (parts []string) {
	for _, s := range truncate.SentencesAt(content) {
		for rest := s; rest != ""; {
			part := truncate.Bytes(rest, urgentPart)
			if rest = rest[len(part):]; rest != "" {
				rest = truncate.LastBytes(part, urgentOverlap) + rest
			}
			if !IsUrgent(part) {
				continue
			}
			if n -= len(part); n < 0 {
				return parts
			}
			parts = append(parts, strings.TrimSpace(part))
		}
	}
	return parts
}

// AsksToForget reports whether a message of the user may ask to forget something.
func AsksToForget(content string) bool { return hasPhrase(content, forgetPhrases()) }

// hasPhrase reports whether the beginning of a message has one of the phrases.
func hasPhrase(content string, lists ...[]string) bool {
	text := word.Fold(truncate.Bytes(content, urgentBytes))
	return slices.ContainsFunc(slices.Concat(lists...), func(phrase string) bool { return containsPhrase(text, phrase) })
}

// containsPhrase reports whether a folded text has a phrase.
func containsPhrase(text, phrase string) bool { return endOfPhrase(text, phrase) >= 0 }

// endOfPhrase returns where the first place ends at which a folded text has a phrase, or -1.
func endOfPhrase(text, phrase string) int {
	literal := strings.TrimSuffix(phrase, "~")
	for from := 0; ; {
		at := strings.Index(text[from:], literal)
		if at < 0 {
			return -1
		}
		if end := endAt(text, from+at, phrase); end >= 0 {
			return end
		}
		from += at + len(literal)
	}
}

// endAt returns where a phrase ends that a folded text has at a place, or -1. It has it at the beginning of a word, or
// as whole words if the phrase ends in "~". In a script without spaces, every character may begin a word, and "~" asks
// that no letter follows.
func endAt(text string, at int, phrase string) int {
	phrase, whole := strings.CutSuffix(phrase, "~")
	end := at + len(phrase)
	if !strings.HasPrefix(text[at:], phrase) {
		return -1
	}
	first, _ := utf8.DecodeRuneInString(phrase)
	after, _ := utf8.DecodeRuneInString(text[end:])
	if !mayBegin(text[:at], first) || whole && isOfWord(after) {
		return -1
	}
	return end
}

// mayBegin reports whether a character may begin a word behind a text.
func mayBegin(before string, first rune) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return !isOfWord(last) || unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

func isOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }
