package vector

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"

	"github.com/throughline/throughline/internal/truncate"
)

// MaxTerms is how many different terms a sparse vector has at most. It keeps the heaviest. Pinecone allows 2,048
// values.
const MaxTerms = 1000

// maxTermLength is the longest term, in bytes. Longer ones are not words, such as encoded data, and are cut.
const maxTermLength = 64

// Encode returns the sparse vector of a text. It has one index for each term of the text (see Terms), with the value 1
// + log(frequency), and is normalised to length 1. The dot product of two such vectors is their cosine, as it is for
// normalised dense vectors, so the two can be added (see Hybrid). Encode is deterministic. A text without terms gives
// an empty vector.
func Encode(text string) Sparse {
	counts := make(map[uint32]int)
	for _, term := range Terms(text) {
		counts[index(term)]++
	}
	weights := make([]weight, 0, len(counts))
	for i, n := range counts {
		weights = append(weights, weight{i, 1 + math.Log(float64(n))})
	}
	return normalised(heaviest(weights))
}

// Terms splits a text into the terms by which texts are compared: runs of letters, digits and marks, in lower case,
// stemmed as English, without stop words, in their order. Stemming leaves most words of other languages unchanged.
// Scripts without spaces give one term for each character.
func Terms(text string) []string {
	var terms []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), isSeparator) {
		if word = strings.Trim(word, "'"); ideographic(word) {
			terms = append(terms, strings.Split(word, "")...)
			continue
		}
		if word, ok := significant(word); ok {
			terms = append(terms, stem(word))
		}
	}
	return terms
}

// Finder counts given terms in texts. It costs much less than Terms, because it stems only words that may be one of the
// terms, and each word once. It may not be used concurrently.
type Finder struct {
	positions map[string]int
	stems     map[string]string // of the words seen so far
	// firstBytes are those of the terms. Stemming does not change the beginning of a word.
	firstBytes [256]bool
	words      map[string]int // the places of the words of ASCII seen so far
	lower      []byte         // the word that is read
}

// NewFinder returns a finder of these terms, which must be different.
func NewFinder(terms []string) *Finder {
	f := &Finder{positions: make(map[string]int, len(terms)), stems: map[string]string{}, words: map[string]int{}}
	for i, term := range terms {
		f.positions[term] = i
		if term != "" {
			f.firstBytes[term[0]] = true
		}
	}
	return f
}

// Count returns how often each term is in the text, in the order of the terms, and how many terms the text has.
func (f *Finder) Count(text string) (counts []int, terms int) {
	counts = make([]int, len(f.positions))
	found := func(term string) {
		if i, ok := f.positions[term]; ok {
			counts[i]++
		}
	}
	if isASCII(text) {
		return counts, f.countASCII(text, counts)
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), isSeparator) {
		if word = strings.Trim(word, "'"); ideographic(word) {
			for _, r := range word {
				terms++
				found(string(r))
			}
			continue
		}
		if word, ok := significant(word); ok {
			terms++
			if f.firstBytes[word[0]] {
				found(f.stem(word))
			}
		}
	}
	return counts, terms
}

// countASCII is Count for a text of ASCII alone, which most are: it makes no lower-case copy and looks at each byte
// once.
func (f *Finder) countASCII(text string, counts []int) (terms int) {
	f.lower = f.lower[:0]
	apostrophe := false // the rest of the word stands behind an apostrophe
	for i := 0; i <= len(text); i++ {
		c := byte(' ')
		if i < len(text) {
			c = lowered[text[i]]
		}
		switch {
		case c == '\'':
			apostrophe = len(f.lower) > 0
		case c != ' ':
			if !apostrophe {
				f.lower = append(f.lower, c)
			}
		case len(f.lower) > 0:
			if f.countWord(counts) {
				terms++
			}
			fallthrough
		default:
			f.lower, apostrophe = f.lower[:0], false
		}
	}
	return terms
}

// countWord counts the word in f.lower, and reports whether it is a term.
func (f *Finder) countWord(counts []int) bool {
	at, known := f.words[string(f.lower)]
	if !known {
		at = f.place(string(f.lower))
		f.words[string(f.lower)] = at
	}
	if at >= 0 {
		counts[at]++
	}
	return at != stopWord
}

// The places of words that are none of the terms.
const (
	stopWord  = -1
	otherTerm = -2
)

// place returns the place of a word among the terms.
func (f *Finder) place(word string) int {
	if english.IsStopWord(word) {
		return stopWord
	}
	if f.firstBytes[word[0]] {
		if at, ok := f.positions[f.stem(word)]; ok {
			return at
		}
	}
	return otherTerm
}

// lowered has each byte of ASCII in lower case, and a space for what separates words.
var lowered = func() (out [256]byte) {
	for i := range out {
		out[i] = ' '
		if r := rune(i); r < utf8.RuneSelf && !isSeparator(r) {
			out[i] = byte(unicode.ToLower(r))
		}
	}
	return out
}()

func isSeparator(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\''
}

func (f *Finder) stem(word string) string {
	term, known := f.stems[word]
	if !known {
		term = stem(word)
		f.stems[word] = term
	}
	return term
}

// significant returns the part of a word that is compared. It is false for a stop word.
func significant(word string) (string, bool) {
	word, _, _ = strings.Cut(word, "'")
	return word, word != "" && !english.IsStopWord(word)
}

func stem(word string) string {
	return english.Stem(truncate.Bytes(word, maxTermLength), false)
}

// ideographic reports whether a run of text has no spaces between its words.
func ideographic(word string) bool {
	if isASCII(word) {
		return false
	}
	return strings.ContainsFunc(word, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
	})
}

func isASCII(word string) bool {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// index returns a 32-bit hash of a term. Two terms with the same hash count as one. Among 100,000 terms, about one pair
// has the same hash.
func index(term string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(term))
	return h.Sum32()
}

type weight struct {
	index uint32
	value float64
}

// heaviest keeps MaxTerms weights and returns them by index.
func heaviest(weights []weight) []weight {
	slices.SortFunc(weights, func(a, b weight) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.index, b.index))
	})
	weights = weights[:min(len(weights), MaxTerms)]
	slices.SortFunc(weights, func(a, b weight) int { return cmp.Compare(a.index, b.index) })
	return weights
}

func normalised(weights []weight) Sparse {
	var squares float64
	for _, w := range weights {
		squares += w.value * w.value
	}
	norm := math.Sqrt(squares)
	out := Sparse{Indices: make([]uint32, len(weights)), Values: make([]float32, len(weights))}
	for i, w := range weights {
		out.Indices[i], out.Values[i] = w.index, float32(w.value/norm)
	}
	return out
}

// Dot returns the dot product of two sparse vectors.
func (s Sparse) Dot(t Sparse) float64 {
	var sum float64
	for i, j := 0, 0; i < len(s.Indices) && j < len(t.Indices); {
		switch {
		case s.Indices[i] < t.Indices[j]:
			i++
		case s.Indices[i] > t.Indices[j]:
			j++
		default:
			sum += float64(s.Values[i]) * float64(t.Values[j])
			i, j = i+1, j+1
		}
	}
	return sum
}

// DenseShare is the weight of the dense vector in a hybrid score. The weight of the sparse vector is 1 - DenseShare, so
// the best score is 1. The service adds the two dot products, so the weights are applied to the query. With one half,
// an exact name or word (sparse) competes with a paraphrase (dense).
const DenseShare = 0.5

// Hybrid scales the two vectors of a query by their weights. The vectors of records are not scaled. A query without a
// sparse vector keeps its dense vector unchanged.
func Hybrid(dense []float32, sparse Sparse) ([]float32, Sparse) {
	if len(sparse.Indices) == 0 {
		return dense, Sparse{}
	}
	return scaled(dense, DenseShare), Sparse{Indices: sparse.Indices, Values: scaled(sparse.Values, 1-DenseShare)}
}

func scaled(values []float32, by float32) []float32 {
	out := make([]float32, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}
