package word

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// Terms returns the terms by which a text is compared with others, in their order.
func Terms(text string) []string {
	folded := Fold(text)
	l, _ := languageOf(folded)
	var terms []string
	for r := range words(folded) {
		if r.pairs {
			terms = appendPairs(terms, r.text)
			continue
		}
		w := significant(r.text)
		if of := l.of(w); w != "" && !of.isStop(w) {
			terms = append(terms, of.stem(w))
		}
	}
	return terms
}

// lightShare is how much a light term counts where another one counts 1.
const lightShare = 0.5

// Weighted iterates over all terms of a text with how much each counts: those of Terms and, beside pairs of Han, their
// single characters that are no stop words. Characters are light, and so is a pair of two stop words.
func Weighted(text string) iter.Seq2[string, float64] {
	return func(yield func(term string, share float64) bool) {
		folded := Fold(text)
		l, _ := languageOf(folded)
		for r := range words(folded) {
			if !r.weighted(l, func(term, _ string, share float64) bool { return yield(term, share) }) {
				return
			}
		}
	}
}

// weighted calls each term of a run with the word before it is stemmed and with how much it counts, until one returns
// false. Words of the Latin script are in a language.
func (r run) weighted(l language, each func(term, word string, share float64) bool) bool {
	if !r.pairs {
		w := significant(r.text)
		of := l.of(w)
		return w == "" || of.isStop(w) || each(of.stem(w), w, 1)
	}
	for term := range pairs(r.text) {
		share := 1.0
		if isStopPair(term) {
			share = lightShare
		}
		if !each(term, "", share) {
			return false
		}
	}
	for char := range characters(r.text) {
		if !each(char, "", lightShare) {
			return false
		}
	}
	return true
}

// IsSmall returns what tells the small words of a text, the stop words of its language, from those with content.
func IsSmall(text string) func(word string) bool {
	l, _ := languageOf(Fold(text))
	return func(word string) bool {
		w := significant(Fold(word))
		return l.of(w).isStop(w)
	}
}

// Split returns the words of a text, folded and not stemmed, with stop words, and the pairs of characters of scripts
// without spaces.
func Split(text string) []string {
	if isASCII(text) && !strings.ContainsFunc(text, isSeparator) {
		return []string{strings.ToLower(text)}
	}
	var out []string
	for r := range runs(Fold(text)) {
		if r.pairs {
			out = appendPairs(out, r.text)
		} else if w := significant(r.text); w != "" {
			out = append(out, w)
		}
	}
	return out
}

func isSeparator(r rune) bool { return kindOf(r) == separator }

// dataBytes is how much ASCII without a space is no text.
const dataBytes = 200

// words iterates over the words of a folded text, without encoded data.
func words(folded string) iter.Seq[run] {
	return func(yield func(run) bool) {
		for field := range strings.FieldsSeq(folded) {
			if len(field) >= dataBytes && isASCII(field) {
				continue
			}
			for r := range runs(field) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// shortEnding is the longest ending behind an apostrophe: "we're".
const shortEnding = 2

// significant returns the part of a word that is compared: without an ending behind an apostrophe, or without an
// article in front of it.
func significant(folded string) string {
	folded = strings.Trim(folded, "'")
	for {
		before, after, found := strings.Cut(folded, "'")
		if !found {
			return folded
		}
		if utf8.RuneCountInString(after) <= shortEnding {
			return before
		}
		folded = strings.TrimLeft(after, "'")
	}
}

// appendPairs appends the terms of characters that are compared by pairs.
func appendPairs(terms []string, chars string) []string {
	for term := range pairs(chars) {
		terms = append(terms, term)
	}
	return terms
}

// pairs iterates over the terms of characters of one script, each with the number of its first character.
func pairs(chars string) iter.Seq2[string, int] {
	return func(yield func(term string, at int) bool) {
		first, n, before, begin := rune(0), 0, 0, 0
		for i, r := range chars {
			if n == 0 {
				first = r
			}
			if n > 1 && !yield(chars[before:i], n-2) {
				return
			}
			before, begin = begin, i
			n++
		}
		if n > 1 && !yield(chars[before:], n-2) {
			return
		}
		if isAlone(first, n) {
			yield(chars[:utf8.RuneLen(first)], 0)
		}
	}
}

// isStopPair reports whether a term of characters is a pair of stop words of Han.
func isStopPair(term string) bool {
	first, size := utf8.DecodeRuneInString(term)
	return size < len(term) && inHan.isStop(string(first)) && inHan.isStop(term[size:])
}

// characters iterates over the characters of a run that may be words of their own, beside its pairs: those of Han, but
// no stop words.
func characters(chars string) iter.Seq[string] {
	return func(yield func(char string) bool) {
		if r, size := utf8.DecodeRuneInString(chars); size == len(chars) || kindOf(r) != han {
			return
		}
		for _, r := range chars {
			if char := string(r); !inHan.isStop(char) && !yield(char) {
				return
			}
		}
	}
}

// isAlone reports whether the first of n characters is a term.
func isAlone(first rune, n int) bool { return n == 1 && !isKana(first) || n == 2 && isHangul(first) }
