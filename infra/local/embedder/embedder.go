// Package embedder places texts in a vector space by their words, word forms and small fields of meaning, with no
// network and no weights. It knows English. The ranking that ships is fitted on its vectors, which therefore never
// change by a bit.
package embedder

import (
	"math"
	"strings"
	"unicode"
)

// DefaultDimensions are those of text-embedding-3-small. MaxDimensions are the most that text-embedding-3-large allows.
const (
	DefaultDimensions = 1536
	MaxDimensions     = 3072
)

// The weights of the kinds of features; the stem of a plain word weighs 1. They were chosen by evidence recall, as "the
// index's own score" of make bench NAME=fit measures it.
const (
	nameShare    = 0.35 // names occur in all of a conversation, so they distinguish little
	trigramShare = 0.2  // letters, for misspellings and forms that the stemmer does not know
	bigramShare  = 0.15 // neighbouring words
	conceptShare = 0.5  // fields of meaning
	// remainderShare is the weight of a feature that only this text has. It keeps texts of one or two words from being
	// perfect answers, as the length normalisation of BM25 does.
	remainderShare = 0.7
	// spread is the number of coordinates of a feature. With more of them collisions do less harm.
	spread = 16
)

// Embedder places texts in a vector space by their words. It may be used concurrently.
type Embedder struct{ lex *Lexicon }

// New returns an Embedder.
func New() *Embedder { return &Embedder{lex: loadLexicon()} }

// Lexicon returns the word lists of the Embedder.
func (e *Embedder) Lexicon() *Lexicon { return e.lex }

// Embed returns the unit vector of a text. dimensions is at least 1. Texts with the same words in other forms have the
// same vector. A text without words has a vector too.
func (e *Embedder) Embed(text string, dimensions int) []float32 {
	features := e.features(text)
	sum := make([]float64, dimensions)
	for i, name := range features.names {
		project(sum, name, features.weights[i])
	}
	norm := 0.0
	for _, x := range sum {
		norm += float64(x * x)
	}
	vector := make([]float32, dimensions)
	if norm == 0 { // in a very small space the features can cancel out
		vector[Hash(text)%uint64(dimensions)] = 1
		return vector
	}
	for i, x := range sum {
		vector[i] = float32(x / math.Sqrt(norm))
	}
	return vector
}

// project adds a feature to a sum: shares with either sign on coordinates that its hash chooses.
func project(sum []float64, name string, weight float64) {
	share := weight / math.Sqrt(spread)
	h := Hash(name)
	for range spread {
		h = mix(h + 0x9e3779b97f4a7c15)
		if h>>63 == 0 {
			sum[h%uint64(len(sum))] += share
		} else {
			sum[h%uint64(len(sum))] -= share
		}
	}
}

// bag is a multiset of features. It keeps the order of their first appearance, so that sums always round the same way.
type bag struct {
	index   map[string]int
	names   []string
	weights []float64
}

func newBag() *bag { return &bag{index: map[string]int{}} }

func (b *bag) slot(name string) *float64 {
	i, ok := b.index[name]
	if !ok {
		i = len(b.names)
		b.index[name] = i
		b.names = append(b.names, name)
		b.weights = append(b.weights, 0)
	}
	return &b.weights[i]
}

func (b *bag) add(name string, weight float64) { *b.slot(name) += weight }

func (b *bag) atLeast(name string, weight float64) {
	slot := b.slot(name)
	*slot = math.Max(*slot, weight)
}

// features returns a text's features: stems by the logarithm of their frequency, and what is derived from them.
func (e *Embedder) features(text string) *bag {
	stems, names := e.lex.topicStems(text)
	counts, pairs := newBag(), newBag()
	for i, stem := range stems {
		counts.add(stem, 1)
		if i > 0 {
			pairs.add(stems[i-1]+" "+stem, 1)
		}
	}
	features := newBag()
	for i, stem := range counts.names {
		weight := e.lex.Weight(stem)
		if names[stem] {
			weight *= nameShare
		}
		e.addStem(features, stem, weight, 1+math.Log(counts.weights[i]))
	}
	for i, pair := range pairs.names {
		a, b, _ := strings.Cut(pair, " ")
		weight := math.Sqrt(e.lex.Weight(a) * e.lex.Weight(b))
		features.add("pair:"+pair, bigramShare*weight*(1+math.Log(pairs.weights[i])))
	}
	features.add("text:"+strings.Join(stems, " "), remainderShare)
	return features
}

func (e *Embedder) addStem(features *bag, stem string, weight, frequency float64) {
	features.add("stem:"+stem, weight*frequency)
	framed := "^" + stem + "$"
	trigram := trigramShare * weight * frequency / math.Sqrt(float64(len(stem)))
	for i := 0; i+3 <= len(framed); i++ {
		features.add("part:"+framed[i:i+3], trigram)
	}
	for _, field := range e.lex.concepts[stem] {
		features.atLeast("field:"+string(rune(field)), conceptShare*weight)
	}
}

// topicStems returns the stems of a text's topic words in order, and which of them occur only as names. A text of stop
// words alone keeps all its words, and a text without words its symbols.
func (lex *Lexicon) topicStems(text string) (stems []string, names map[string]bool) {
	names = map[string]bool{}
	words := splitWords(strings.ReplaceAll(text, "’", "'"))
	known := map[string]string{}
	for _, w := range words {
		if lex.stop[w.lower] || w.kind == vocativeWord {
			continue
		}
		stem, ok := known[w.lower]
		if !ok {
			stem = lex.stem(w.lower)
			known[w.lower] = stem
		}
		isName := w.kind == nameWord || w.kind == labelWord
		if before, seen := names[stem]; seen {
			isName = isName && before
		}
		names[stem] = isName
		stems = append(stems, stem)
	}
	if len(stems) > 0 {
		return stems, names
	}
	return bareStems(text, words), names
}

func bareStems(text string, words []word) []string {
	var stems []string
	for _, w := range words {
		stems = append(stems, w.lower)
	}
	for _, r := range text {
		if len(words) == 0 && !unicode.IsSpace(r) {
			stems = append(stems, string(r))
		}
	}
	return stems
}

// Hash is FNV-1a with a finishing mix, the same on every machine.
func Hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix(h)
}

// mix spreads every bit of h over all of them (the finisher of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
