package word

import (
	"strings"
	"unicode/utf8"
)

// Query is what is looked for in texts: words, each once. It may be used concurrently.
type Query struct {
	// terms are the words as Weighted returns them, folded the words before they are stemmed.
	terms, folded []string
	// shares are how much each term counts.
	shares []float64
	// languages are those by whose stems words of the Latin script are compared. A query that does not show its language
	// is compared by all.
	languages []language
}

// NewQuery returns the words of a text.
func NewQuery(text string) Query {
	folded := Fold(text)
	l, sure := languageOf(folded)
	q := Query{languages: []language{l}}
	for other := range latinLanguages {
		if !sure && other != l {
			q.languages = append(q.languages, other)
		}
	}
	places := map[string]int{}
	add := func(term, word string, share float64) bool {
		at, known := places[term]
		if !known {
			at, places[term] = len(q.terms), len(q.terms)
			q.terms, q.folded, q.shares = append(q.terms, term), append(q.folded, word), append(q.shares, 0)
		}
		q.shares[at] = max(q.shares[at], share)
		return true
	}
	for r := range words(folded) {
		r.weighted(l, add)
	}
	return q
}

// Terms returns the terms of the query, each once. They must not be changed.
func (q Query) Terms() []string { return q.terms }

// Share returns how much a term of the query counts: 1, or lightShare.
func (q Query) Share(term int) float64 { return q.shares[term] }

// Hit is a word of a text that is one of a query's: the number of the term, and the number of the word in its text.
type Hit struct{ Term, At int32 }

// Finder finds the words of a query in texts. It costs much less than Terms, because it stems only words that may be
// one of the query's, and each of them once. It may not be used concurrently.
type Finder struct {
	languages []language
	// stems has the place of each term by its stem, for each of the languages. pairs has those of pairs of characters
	// and of single ones.
	stems [languages]map[string]int32
	pairs map[string]int32
	// starts has a bit for each beginning of a stem, as start returns them.
	starts [1 << startBits / 64]uint64
	// firsts and seconds are the characters of the pairs, with all that are folded to them.
	firsts, seconds runeSet
	// singles are the characters of Han that are terms wherever they stand.
	singles runeSet
	// words are the places of the words seen so far, seen those of two characters, runs the hits in those with letters
	// beyond ASCII.
	words map[string]int32
	seen  map[uint64]int32
	runs  map[string]found
}

// found are the hits of a run, from its first word on, and the number of its words.
type found struct {
	hits  []Hit
	words int
}

// NewFinder returns a finder of the words of a query.
func NewFinder(q Query) *Finder {
	f := &Finder{
		languages: q.languages, words: map[string]int32{}, seen: map[uint64]int32{}, runs: map[string]found{},
	}
	for i, w := range q.folded {
		if w == "" {
			f.addPair(q.terms[i], int32(i))
			continue
		}
		if of := inEnglish.of(w); of != inEnglish {
			f.addStem(of, w, int32(i))
			continue
		}
		for _, l := range q.languages {
			f.addStem(l, w, int32(i))
		}
	}
	return f
}

func (f *Finder) addStem(l language, word string, at int32) {
	if f.stems[l] == nil {
		f.stems[l] = map[string]int32{}
	}
	stem := l.stem(word)
	if _, known := f.stems[l][stem]; !known {
		f.stems[l][stem] = at
	}
	same := startBytes
	if l != inEnglish {
		same = startBytes - 1
	}
	f.addStarts(stem, same)
}

func (f *Finder) addPair(term string, at int32) {
	if f.pairs == nil {
		f.pairs = map[string]int32{}
	}
	f.pairs[term] = at
	first, size := utf8.DecodeRuneInString(term)
	variants(first, func(r rune) { f.firsts.add(r) })
	if size == len(term) && kindOf(first) == han && !inHan.isStop(term) {
		variants(first, func(r rune) { f.singles.add(r) })
	}
	if size < len(term) {
		second, _ := utf8.DecodeRuneInString(term[size:])
		variants(second, func(r rune) { f.seconds.add(r) })
	}
}

// runeSet has a bit for each rune of the basic plane of Unicode. Others share their bits.
type runeSet [1 << 16 / 64]uint64

func (s *runeSet) add(r rune) { s[uint16(r)/64] |= 1 << (uint16(r) % 64) }

func (s *runeSet) has(r rune) bool { return s[uint16(r)/64]&(1<<(uint16(r)%64)) != 0 }

// addStarts adds the beginnings of the words that may have a stem, of which so many bytes are the word's. A longer word
// may have a shorter stem.
func (f *Finder) addStarts(stem string, same int) {
	if len(stem) >= startBytes && same >= startBytes {
		at := start(stem)
		f.starts[at/64] |= 1 << (at % 64)
		return
	}
	stem = stem[:min(len(stem), same)]
	for last := range byte(1 << bitsOfByte) {
		f.addStarts(stem+string(rune(last)), max(same, len(stem)+1))
	}
}

const (
	startBytes = 3
	bitsOfByte = 5
	startBits  = startBytes * bitsOfByte
)

// start is the beginning of a stem or a word: five bits of each of its first three bytes, the same for capital letters
// and small ones. Stemming as English changes nothing of the first two but "y" to "i", and of the third one "y" to "i"
// and "i" to "e" ("using", "use"). So these are the same here. In other languages it changes no more of the first two.
func start(word string) uint16 {
	bits := uint16(word[0]) & (1<<bitsOfByte - 1) << (2 * bitsOfByte)
	if len(word) > 1 {
		bits |= alike[word[1]] << bitsOfByte
	}
	if len(word) > 2 {
		bits |= alike[word[2]]
	}
	return bits
}

// alike has five bits of each byte, the same for "e", "i" and "y".
var alike = func() (out [256]uint16) {
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

// Place returns the number of the query's term that a word has, or None. The word has letters and digits of ASCII, in
// any case.
func (f *Finder) Place(word string) int32 {
	at := start(word)
	if f.starts[at/64]&(1<<(at%64)) == 0 {
		return None
	}
	place, known := f.words[word]
	if !known {
		place = f.find(strings.ToLower(word))
		f.words[word] = place
	}
	return place
}

// find returns the number of the term that a folded word has, or None.
func (f *Finder) find(folded string) int32 {
	if of := inEnglish.of(folded); of != inEnglish {
		return f.findIn(of, folded)
	}
	for _, l := range f.languages {
		if at := f.findIn(l, folded); at != None {
			return at
		}
	}
	return None
}

func (f *Finder) findIn(l language, folded string) int32 {
	if f.stems[l] == nil || l.isStop(folded) {
		return None
	}
	if at, found := f.stems[l][l.stem(folded)]; found {
		return at
	}
	return None
}
