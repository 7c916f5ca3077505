package vector

import (
	"strings"

	"github.com/kljensen/snowball/english"
)

// Finder finds given terms in texts. It costs much less than Terms, because it stems only words that may be one of the
// terms, and each of them once. It may not be used concurrently.
type Finder struct {
	places map[string]int
	// starts has the beginnings of the terms, as start returns them.
	starts [1 << 16]bool
	stems  map[string]string // of the words seen so far
}

// NewFinder returns a finder of these terms, which must be different.
func NewFinder(terms []string) *Finder {
	f := &Finder{places: make(map[string]int, len(terms)), stems: map[string]string{}}
	for i, term := range terms {
		f.places[term] = i
		if len(term) > 1 {
			f.starts[start(term)] = true
			continue
		}
		for second := range 256 { // a longer word may have this stem
			f.starts[start(term+string([]byte{byte(second)}))] = true
		}
	}
	return f
}

// start is the beginning of a term or a word: its first two bytes. Stemming changes nothing of them but "y" to "i", so
// the two are the same here.
func start(word string) uint16 {
	second := byte(0)
	if len(word) > 1 {
		second = word[1]
	}
	if second == 'y' {
		second = 'i'
	}
	return uint16(word[0])<<8 | uint16(second)
}

// What Place returns for a word that is none of the terms.
const (
	StopWord  = -1
	OtherTerm = -2
)

// Place returns the place of a word's term among the terms, or StopWord or OtherTerm. The word is what Terms takes for
// one: in lower case, of a script with spaces, without what stands behind an apostrophe.
func (f *Finder) Place(word string) int {
	if english.IsStopWord(word) {
		return StopWord
	}
	if f.starts[start(word)] {
		term, known := f.stems[word]
		if !known {
			term = stem(word)
			f.stems[word] = term
		}
		if at, found := f.places[term]; found {
			return at
		}
	}
	return OtherTerm
}

// Count adds how often each term is in a text to counts, in the order of the terms. It returns how many terms the text
// has.
func (f *Finder) Count(text string, counts []int) (terms int) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), isSeparator) {
		if word = strings.Trim(word, "'"); ideographic(word) {
			for _, r := range word {
				terms++
				if at, found := f.places[string(r)]; found {
					counts[at]++
				}
			}
			continue
		}
		word, _, _ = strings.Cut(word, "'")
		if word == "" {
			continue
		}
		at := f.Place(word)
		if at >= 0 {
			counts[at]++
		}
		if at != StopWord {
			terms++
		}
	}
	return terms
}
