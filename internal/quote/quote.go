// Package quote finds out whether one text repeats the words of another.
package quote

import (
	"iter"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/word"
)

// The rules by which a text quotes another. They find words that are repeated, not what is said in other words. Each
// bound is as low as possible without taking the small talk of a conversation for a quote.
const (
	// minRun is how many words in a row are a quote.
	minRun = 5
	// minRunDense is the same in scripts without spaces between words, in characters.
	minRunDense = 10
	// minShared is how many long words anywhere in the text are a quote, if they are half of the quoted text's.
	minShared = 4
	// longWord is the length of a long word, in characters, and minDigits how many digits make a number that is a quote
	// alone, such as the end of an account's number. A year is no such number.
	longWord, minDigits = 4, 4
)

// Matcher finds the texts that quote one text. It is safe for concurrent use.
type Matcher struct {
	// runs are the runs of size words of the text, long are its long words, and numbers those that are a quote alone.
	runs    map[string]bool
	size    int
	long    map[string]bool
	numbers map[string]bool
	// content are its words with content, codes the numbers that are no amounts.
	content, codes map[string]bool
	isSmall        func(word string) bool
}

// New returns the matcher of the texts that quote text.
func New(text string) *Matcher {
	words, dense := split(text)
	m := &Matcher{
		runs: map[string]bool{}, size: minRun, long: map[string]bool{}, numbers: map[string]bool{},
		codes: map[string]bool{}, isSmall: word.IsSmall(text),
	}
	m.content = contentOf(text, m.isSmall)
	if dense {
		m.size = minRunDense
	}
	for run := range runsOf(words, m.size) {
		m.runs[run] = true
	}
	for i, w := range words {
		switch {
		case isNumber(w):
			m.numbers[w] = true
			isPart := i > 0 && m.numbers[words[i-1]] || i+1 < len(words) && isNumber(words[i+1])
			if isPart || !strings.HasSuffix(w, "0") {
				m.codes[w] = true
			}
		case utf8.RuneCountInString(w) >= longWord:
			m.long[w] = true
		}
	}
	return m
}

// Quotes reports whether a text quotes the matcher's: it has one of its numbers, five of its words in a row, or half of
// its long words and at least four of them. Case and punctuation do not matter.
func (m *Matcher) Quotes(text string) bool {
	words, _ := split(text)
	shared := map[string]bool{}
	for _, w := range words {
		if m.numbers[w] {
			return true
		}
		if m.long[w] {
			shared[w] = true
		}
	}
	if len(shared) >= minShared && 2*len(shared) >= len(m.long) {
		return true
	}
	for run := range runsOf(words, m.size) {
		if m.runs[run] {
			return true
		}
	}
	return false
}

// Repeats reports whether a text of the same person says again what the matcher's says. Everyday words that both have
// are not enough, as they are for an answer. Both have a number and a word with content, or a number that is no amount,
// or words with content: two in a row of five words, or half of the matcher's and at least four.
func (m *Matcher) Repeats(text string) bool {
	words, _ := split(text)
	shared := m.contentIn(text)
	for _, w := range words {
		if m.codes[w] || m.numbers[w] && len(shared) > 0 {
			return true
		}
	}
	if len(shared) >= minShared && 2*len(shared) >= len(m.content) {
		return true
	}
	inRuns := map[string]bool{}
	for run := range runsOf(words, m.size) {
		if m.runs[run] {
			if m.size == minRunDense {
				run = strings.ReplaceAll(run, " ", "")
			}
			maps.Copy(inRuns, m.contentIn(run))
		}
	}
	return len(inRuns) > 0 && len(inRuns) >= min(minContent, len(m.content))
}

// contentIn returns the words of the matcher with content that a text has.
func (m *Matcher) contentIn(text string) map[string]bool {
	content := contentOf(text, m.isSmall)
	maps.DeleteFunc(content, func(w string, _ bool) bool { return !m.content[w] })
	return content
}

// runsOf iterates over the runs of so many words.
func runsOf(words []string, size int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := size; i <= len(words); i++ {
			if !yield(strings.Join(words[i-size:i], " ")) {
				return
			}
		}
	}
}

// dense are the scripts that are written without spaces between words.
var dense = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// split returns the words of a text. isDense reports whether most of them are characters of a script without spaces.
func split(text string) (words []string, isDense bool) {
	n := 0
	for w, isCharacter := range wordsOf(text) {
		words = append(words, w)
		if isCharacter {
			n++
		}
	}
	return words, 2*n > len(words)
}

// wordsOf iterates over the folded words of a text (word.Fold). In a script without spaces each character is a word.
func wordsOf(text string) iter.Seq2[string, bool] {
	return func(yield func(folded string, isCharacter bool) bool) {
		start := -1
		for i, r := range text {
			isCharacter := r > unicode.MaxLatin1 && unicode.In(r, dense...)
			if !isCharacter && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.In(r, unicode.M, unicode.Cf)) {
				if start < 0 && !unicode.Is(unicode.Cf, r) {
					start = i
				}
				continue
			}
			if start >= 0 && !yield(word.Fold(text[start:i]), false) || isCharacter && !yield(word.Fold(string(r)), true) {
				return
			}
			start = -1
		}
		if start >= 0 {
			yield(word.Fold(text[start:]), false)
		}
	}
}

// isNumber reports whether a word has so many digits that it says who or what is meant.
func isNumber(word string) bool {
	digits := 0
	for _, r := range word {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	isYear := len(word) == 4 && (strings.HasPrefix(word, "19") || strings.HasPrefix(word, "20"))
	return digits >= minDigits && !isYear
}
