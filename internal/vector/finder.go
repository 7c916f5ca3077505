package vector

import (
	"strings"

	"github.com/kljensen/snowball/english"
)

// Finder finds given terms in texts. It costs much less than Terms, because it stems only words that may be one of the
// terms, and each of them once. It may not be used concurrently.
type Finder struct {
	places map[string]int
	// starts has a bit for each beginning of a term, as start returns them.
	starts [1 << startBits / 64]uint64
	words  map[string]int // the places of the words seen so far
}

// NewFinder returns a finder of these terms, which must be different.
func NewFinder(terms []string) *Finder {
	f := &Finder{places: make(map[string]int, len(terms)), words: map[string]int{}}
	for i, term := range terms {
		f.places[term] = i
		f.addStarts(term)
	}
	return f
}

// addStarts adds the beginnings of the words that may have a term. A longer word may have a term of one or two bytes.
func (f *Finder) addStarts(term string) {
	if len(term) >= startBytes {
		at := start(term)
		f.starts[at/64] |= 1 << (at % 64)
		return
	}
	f.addStarts(term + strings.Repeat("\x00", startBytes-len(term)))
	for last := range byte(1 << bitsOfByte) {
		if len(term) > 0 && last > 0 {
			f.addStarts(term + string(rune(last)))
		}
	}
}

const (
	startBytes = 3
	bitsOfByte = 5
	startBits  = startBytes * bitsOfByte
)

// start is the beginning of a term or a word: five bits of each of its first three bytes, the same for capital letters
// and small ones. Stemming changes nothing of the first two but "y" to "i", and of the third one "y" to "i" and "i" to
// "e" ("using", "use"). So these are the same here.
func start(word string) uint16 {
	bits := uint16(word[0]) & (1<<bitsOfByte - 1) << (2 * bitsOfByte)
	if len(word) > 1 {
		bits |= folded[word[1]] << bitsOfByte
	}
	if len(word) > 2 {
		bits |= folded[word[2]]
	}
	return bits
}

// folded has five bits of each byte, the same for "e", "i" and "y".
var folded = func() (out [256]uint16) {
	const mask = 1<<bitsOfByte - 1
	for i := range out {
		c := byte(i) & mask
		if c == 'e'&mask || c == 'y'&mask {
			c = 'i' & mask
		}
		out[i] = uint16(c)
	}
	return out
}()

// None is what Place returns for a word that is none of the terms.
const None = -1

// Place returns the place of a word's term among the terms, or None. The word is what Terms takes for one: of a script
// with spaces, without what follows an apostrophe. Letters beyond ASCII are in lower case.
func (f *Finder) Place(word string) int {
	first := start(word)
	if f.starts[first/64]&(1<<(first%64)) == 0 {
		return None
	}
	at, known := f.words[word]
	if !known {
		at = f.find(strings.ToLower(word))
		f.words[word] = at
	}
	return at
}

// find returns the place of a word's term that is in lower case, or None.
func (f *Finder) find(word string) int {
	if english.IsStopWord(word) {
		return None
	}
	if at, found := f.places[stem(word)]; found {
		return at
	}
	return None
}

// Count adds how often each term is in a text to counts, in the order of the terms. It returns how many words the text
// has, with stop words. Each character of a script without spaces is a word.
func (f *Finder) Count(text string, counts []int) (words int) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), isSeparator) {
		if word = strings.Trim(word, "'"); ideographic(word) {
			for _, r := range word {
				words++
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
		words++
		if at := f.Place(word); at >= 0 {
			counts[at]++
		}
	}
	return words
}
